package nemesis

import (
	"context"
	"io"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/local"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/harness/cluster/virtual/bubble"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/internal/needs"
)

func TestMain(m *testing.M) {
	clustertest.Main(m, map[string]func(io.Reader, io.Writer) error{"worker": client.ServeWorker})
}

// ttl is the TTL of the clients' lock.
const ttl = 2 * time.Second

// ctx never ends: a test's own context belongs to real time.
var ctx = context.Background()

// rig is a cluster of three nodes and the clients c1 and c2, with a nemesis.
type rig struct {
	cluster cluster.Cluster
	nemesis *Nemesis
	clients *workers
	events  clustertest.Events
}

// setting has a rig's differences from the default.
type setting struct {
	change  func(*cluster.Config) // nil: no change
	options locks.Options         // of the clients' lock, beside the TTL
}

// onClusters runs a test on a virtual cluster and, if there is a redis-server, on a local one.
func (s setting) onClusters(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("virtual", func(t *testing.T) { s.onVirtual(t, test) })
	t.Run("local", func(t *testing.T) { s.onLocal(t, test) })
}

func (s setting) onVirtual(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	require.NoError(t, bubble.Run(func() {
		s.run(t, func(cfg cluster.Config) (cluster.Cluster, error) { return virtual.New(cfg) }, test)
	}))
}

func (s setting) onLocal(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	needs.Check(t, needs.Redis, local.Available(""))
	s.run(t, func(cfg cluster.Config) (cluster.Cluster, error) { return local.New(ctx, cfg, cluster.Choice{}) }, test)
}

func (s setting) run(t *testing.T, open func(cluster.Config) (cluster.Cluster, error),
	test func(t *testing.T, r *rig)) {
	t.Helper()
	r := &rig{}
	cfg := cluster.Config{
		Nodes: []string{"n1", "n2", "n3"}, Clients: []string{"c1", "c2"}, Persistence: cluster.PersistNo, Seed: 1,
		Record: r.events.Record,
	}
	if s.change != nil {
		s.change(&cfg)
	}
	c, err := open(cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	r.clients = &workers{c: c, events: &r.events, workers: map[string]client.Worker{}}
	s.options.TTL = ttl
	for i, name := range cfg.Clients {
		r.clients.start(t, i, name, s.options)
	}
	r.use(c, r.clients)
	test(t, r)
	require.NoError(t, r.nemesis.EndAll(ctx))
}

func onClusters(t *testing.T, test func(t *testing.T, r *rig)) { setting{}.onClusters(t, test) }
func onVirtual(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	setting{}.onVirtual(t, test)
}

// use gives the rig a nemesis for a cluster and clients.
func (r *rig) use(c cluster.Cluster, clients ClientControl) {
	r.cluster = c
	r.nemesis = New(c, clients, []string{"c1", "c2"}, r.events.Record)
}

// needShim skips a test if the cluster lacks an ability: only the local cluster without the preload shim does.
func needShim(t *testing.T, r *rig, a *cluster.Ability) {
	t.Helper()
	if lack := r.can(a); lack != nil {
		needs.PlainTemp(t)
		needs.Check(t, needs.Compiler, lack)
	}
}

// can returns an error if the cluster lacks an ability.
func (r *rig) can(a *cluster.Ability) error {
	kind, err := cluster.Find(r.cluster.Kind())
	if err != nil {
		return err
	}
	return kind.Can(a)
}

// apply applies a fault, which must succeed.
func (r *rig) apply(t *testing.T, f Fault) []*Active {
	t.Helper()
	begun, err := r.nemesis.Apply(ctx, f)
	require.NoError(t, err)
	return begun
}

// refused applies a fault, which must fail.
func (r *rig) refused(t *testing.T, f Fault, want string) {
	t.Helper()
	begun, err := r.nemesis.Apply(ctx, f)
	require.ErrorContains(t, err, want)
	require.Empty(t, begun)
}

// end ends faults, and returns the last end's event.
func (r *rig) end(t *testing.T, begun []*Active) *history.Fault {
	t.Helper()
	for _, a := range begun {
		require.NoError(t, r.nemesis.End(ctx, a))
	}
	require.Equal(t, history.PhaseEnd, r.last(t).Phase)
	return r.last(t)
}

func (r *rig) sleep(d time.Duration) { _ = r.cluster.Sleep(ctx, d) }

// await waits for something, for a minute at most: a busy machine is late.
func (r *rig) await(t *testing.T, what string, happens func() bool) {
	t.Helper()
	for began := r.cluster.Now(); !happens(); r.sleep(time.Millisecond) {
		require.Less(t, time.Duration(r.cluster.Now()-began), time.Minute, what)
	}
}

func (r *rig) look(t *testing.T, node string) history.Node {
	t.Helper()
	seen, err := r.cluster.Node(node).Look(ctx)
	require.NoError(t, err)
	return seen
}

// requireWell requires that no fault is in effect and every node is up.
func (r *rig) requireWell(t *testing.T) {
	t.Helper()
	require.Empty(t, r.nemesis.activeWhere(func(*Active) bool { return true }))
	for _, n := range []string{"n1", "n2", "n3"} {
		require.True(t, r.look(t, n).Up, n)
	}
}

// faults lists the fault events so far.
func (r *rig) faults() []*history.Fault {
	var all []*history.Fault
	for _, e := range r.events.All() {
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
	for _, e := range r.events.All() {
		if e.Process == name && e.Op == op && e.Type != history.TypeInvoke {
			all = append(all, e)
		}
	}
	return all
}

// acquire makes a client acquire a lock, and returns the outcome.
func (r *rig) acquire(t *testing.T, name, key string, within time.Duration) history.Event {
	t.Helper()
	<-r.clients.do(t, name, client.Command{Do: client.DoAcquire, Key: key, Within: within})
	all := r.outcomes(name, history.OpAcquire)
	return all[len(all)-1]
}

// hold makes c1 acquire locks, and waits until the nodes outside the majority have answered too.
func (r *rig) hold(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		require.Equal(t, history.TypeOK, r.acquire(t, "c1", key, time.Second).Type)
	}
	r.sleep(200 * time.Millisecond)
}

func duration(t *testing.T, m map[string]string, name string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(m[name])
	require.NoError(t, err, "%q of %v", name, m)
	return d
}

func number(t *testing.T, m map[string]string, name string) int {
	t.Helper()
	n, err := strconv.Atoi(m[name])
	require.NoError(t, err, "%q of %v", name, m)
	return n
}

// loop keeps a client busy.
var loop = client.Command{Do: client.DoLoop, Loop: &client.Loop{
	Keys: []string{"k1"}, Hold: 5 * time.Millisecond, Think: 5 * time.Millisecond}}

// workers are the run's clients as a minimal ClientControl.
type workers struct {
	c       cluster.Cluster
	events  *clustertest.Events
	workers map[string]client.Worker
	mu      sync.Mutex
	ends    []chan client.Message // of the commands, by serial
}

func (w *workers) start(t *testing.T, index int, name string, options locks.Options) {
	t.Helper()
	setup := client.Setup{Name: name, Index: index, Lock: locks.Reference, Options: options}
	worker, err := w.c.(client.Host).Spawn(ctx, setup, w.receive)
	require.NoError(t, err)
	w.workers[name] = worker
}

func (w *workers) receive(m client.Message) {
	if m.Event != nil {
		w.events.Record(*m.Event)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends[m.Done-1] <- m
}

// do sends a client a command; the channel has its end.
func (w *workers) do(t *testing.T, name string, cmd client.Command) <-chan client.Message {
	t.Helper()
	done, err := w.send(name, cmd)
	require.NoError(t, err)
	return done
}

func (w *workers) send(name string, cmd client.Command) (<-chan client.Message, error) {
	done := make(chan client.Message, 1)
	w.mu.Lock()
	w.ends = append(w.ends, done)
	cmd.Serial = len(w.ends)
	w.mu.Unlock()
	return done, w.workers[name].Send(cmd)
}

func (w *workers) Pause(name string) error  { return w.workers[name].Pause() }
func (w *workers) Resume(name string) error { return w.workers[name].Resume() }
func (w *workers) Kill(name string) error   { return w.workers[name].Kill() }

func (w *workers) LastEventTime(name string) (last int64) {
	for _, e := range w.events.All() {
		if e.Process == name {
			last = max(last, e.Time)
		}
	}
	return last
}

// run sends a client a command, and waits for its end.
func (w *workers) run(name string, cmd client.Command) (end client.Message, err error) {
	done, err := w.send(name, cmd)
	if err == nil {
		end = <-done
	}
	return end, err
}

func (w *workers) SetClock(_ context.Context, name string, jump time.Duration, rate float64) (Reading, error) {
	_, err := w.run(name, client.Command{Do: client.DoClock, Clock: &client.SetClock{Jump: jump, Rate: rate}})
	return w.clock(name), err
}

// clock is the latest reading of a process's wall clock.
func (w *workers) clock(name string) (latest Reading) {
	for _, e := range w.events.All() {
		if e.Process == name && e.Type == history.TypeClock && e.Clock.Wall {
			latest = Reading{True: e.Time, Wall: e.Clock.Reading, Rate: e.Clock.Rate}
		}
	}
	return latest
}

func (w *workers) Starve(_ context.Context, name string) error {
	_, err := w.run(name, client.Command{Do: client.DoStarve})
	return err
}

func (w *workers) Feed(_ context.Context, name string) (cluster.Late, error) {
	end, err := w.run(name, client.Command{Do: client.DoFeed})
	return *end.Starved, err
}
