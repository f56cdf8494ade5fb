package nemesis

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/kinds"
	"example.org/lockproof/harness/cluster/local"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/harness/cluster/virtual/bubble"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/internal/needs"
)

// TestMain makes the test binary a client when the local cluster starts it as
// one.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "worker" {
		if err := client.ServeWorker(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	state, err := os.MkdirTemp("", "nemesis-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_CACHE_HOME", state)
	os.Setenv("HOME", state)
	code := m.Run()
	os.RemoveAll(state)
	os.Exit(code)
}

// ttl is the TTL of the clients' lock.
const ttl = 2 * time.Second

// rig is a cluster of three nodes and the clients c1 and c2, with a nemesis.
type rig struct {
	cluster cluster.Cluster
	nemesis *Nemesis
	clients *workers
	options locks.Options // of the clients' lock, beside the TTL

	mu     sync.Mutex
	events []history.Event
}

func (r *rig) record(e history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// onClusters runs a test on a virtual cluster and, where there is a
// redis-server, on a local one. The test gets a testing.T of its own.
func onClusters(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("virtual", func(t *testing.T) { onVirtual(t, test) })
	t.Run("local", func(t *testing.T) { onLocal(t, test) })
}

func onVirtual(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	onVirtualWith(t, locks.Options{}, test)
}

// onVirtualWith runs a test with clients whose lock has these options.
func onVirtualWith(t *testing.T, options locks.Options, test func(t *testing.T, r *rig)) {
	t.Helper()
	require.NoError(t, bubble.Run(func() {
		r := &rig{options: options}
		c, err := virtual.New(r.config())
		require.NoError(t, err)
		r.run(t, c, test)
	}))
}

func onLocal(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	onLocalWith(t, func(*cluster.Config) {}, locks.Options{}, test)
}

// onLocalWith runs a test on a local cluster whose servers are set up otherwise,
// with clients whose lock has these options.
func onLocalWith(t *testing.T, change func(*cluster.Config), options locks.Options, test func(t *testing.T, r *rig)) {
	t.Helper()
	needs.Check(t, needs.Redis, local.Available(""))
	r := &rig{options: options}
	cfg := r.config()
	change(&cfg)
	c, err := local.New(context.Background(), cfg, cluster.Choice{})
	require.NoError(t, err)
	r.run(t, c, test)
}

// needShim skips a test of an ability that a cluster has not: all of them have
// all that is tested, but for the local one without the preload shim.
func needShim(t *testing.T, r *rig, a cluster.Ability) {
	t.Helper()
	if lack := r.can(a); lack != nil {
		needs.PlainTemp(t)
		needs.Check(t, needs.Compiler, lack)
	}
}

// can says whether the cluster has an ability.
func (r *rig) can(a cluster.Ability) error {
	kind, err := kinds.Find(r.cluster.Kind())
	if err != nil {
		return err
	}
	return kind.Can(a)
}

func (r *rig) config() cluster.Config {
	return cluster.Config{
		Nodes: []string{"n1", "n2", "n3"}, Clients: []string{"c1", "c2"}, Persistence: cluster.PersistNo, Seed: 1, Record: r.record,
	}
}

func (r *rig) run(t *testing.T, c cluster.Cluster, test func(t *testing.T, r *rig)) {
	t.Helper()
	r.cluster = c
	defer func() { require.NoError(t, c.Close()) }()
	r.clients = &workers{c: c, record: r.record, workers: map[string]client.Worker{}, clocks: map[string]Reading{},
		said: map[string]int64{}, waiting: map[int]chan struct{}{}, late: map[int]*client.Starved{}}
	names := []string{"c1", "c2"}
	r.options.TTL = ttl
	for i, name := range names {
		r.clients.start(t, i, name, r.options)
	}
	r.nemesis = New(c, r.clients, names, r.record)
	test(t, r)
	require.NoError(t, r.nemesis.EndAll(context.Background()))
}

// apply does a fault that has to succeed.
func (r *rig) apply(t *testing.T, f Fault) []*Active {
	t.Helper()
	begun, err := r.nemesis.Apply(context.Background(), f)
	require.NoError(t, err)
	return begun
}

func (r *rig) sleep(d time.Duration) { _ = r.cluster.Sleep(context.Background(), d) }

// faults lists the fault events so far.
func (r *rig) faults() []*history.Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*history.Fault
	for _, e := range r.events {
		if e.Type == history.TypeFault {
			all = append(all, e.Fault)
		}
	}
	return all
}

// last is the latest fault event.
func (r *rig) last(t *testing.T) *history.Fault {
	t.Helper()
	all := r.faults()
	require.NotEmpty(t, all)
	return all[len(all)-1]
}

// outcomes lists the outcomes of a client's operations so far.
func (r *rig) outcomes(name string, op history.Op) (all []history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Process == name && e.Op == op && e.Type != history.TypeInvoke {
			all = append(all, e)
		}
	}
	return all
}

// duration reads one from the measured or asked.
func duration(t *testing.T, m map[string]string, name string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(m[name])
	require.NoError(t, err, "%q of %v", name, m)
	return d
}

// workers are the run's clients, as plain as can be.
type workers struct {
	c       cluster.Cluster
	record  func(history.Event)
	mu      sync.Mutex
	workers map[string]client.Worker
	serial  int
	clocks  map[string]Reading
	said    map[string]int64
	waiting map[int]chan struct{}
	late    map[int]*client.Starved // by serial
}

func (w *workers) start(t *testing.T, index int, name string, options locks.Options) {
	t.Helper()
	setup := client.Setup{Name: name, Index: index, Lock: locks.Reference, Options: options}
	worker, err := w.c.(client.Host).Spawn(context.Background(), setup, func(m client.Message) { w.heard(name, m) })
	require.NoError(t, err)
	w.workers[name] = worker
}

func (w *workers) heard(name string, m client.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.Event == nil {
		w.late[m.Done] = m.Starved
		close(w.waiting[m.Done])
		return
	}
	w.record(*m.Event)
	w.said[name] = max(w.said[name], m.Event.Time)
	if c := m.Event.Clock; c != nil {
		r := w.clocks[name]
		r.True, r.Rate = m.Event.Time, c.Rate
		if c.Wall {
			r.Wall = c.Reading
		} else {
			r.Monotonic = c.Reading
		}
		w.clocks[name] = r
	}
}

// do hands a client a command; the channel is closed when it has ended.
func (w *workers) do(t *testing.T, name string, cmd client.Command) <-chan struct{} {
	t.Helper()
	done, err := w.send(name, cmd)
	require.NoError(t, err)
	return done
}

func (w *workers) send(name string, cmd client.Command) (<-chan struct{}, error) {
	done := make(chan struct{})
	w.mu.Lock()
	w.serial++
	cmd.Serial = w.serial
	w.waiting[cmd.Serial] = done
	w.mu.Unlock()
	return done, w.workers[name].Send(cmd)
}

func (w *workers) Pause(name string) error  { return w.workers[name].Pause() }
func (w *workers) Resume(name string) error { return w.workers[name].Resume() }
func (w *workers) Kill(name string) error   { return w.workers[name].Kill() }

func (w *workers) LastEventTime(name string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said[name]
}

func (w *workers) SetClock(ctx context.Context, name string, jump time.Duration, rate float64) (Reading, error) {
	done, err := w.send(name, client.Command{Do: client.DoClock, Clock: &client.SetClock{Jump: jump, Rate: rate}})
	if err != nil {
		return Reading{}, err
	}
	select {
	case <-done:
	case <-ctx.Done():
		return Reading{}, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clocks[name], nil
}

func (w *workers) Starve(_ context.Context, name string) error {
	done, err := w.send(name, client.Command{Do: client.DoStarve})
	if err == nil {
		<-done
	}
	return err
}

func (w *workers) Feed(_ context.Context, name string) (Late, error) {
	done, err := w.send(name, client.Command{Do: client.DoFeed})
	if err != nil {
		return Late{}, err
	}
	<-done
	w.mu.Lock()
	defer w.mu.Unlock()
	return Late(*w.late[w.serial]), nil
}
