package local

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/cluster/realcluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/internal/needs"
)

func TestMain(m *testing.M) {
	clustertest.Main(m, map[string]clustertest.Role{"worker": client.ServeWorker, "harness": runHarness})
}

// family is runHarness's report: its run's folder, and the numbers of its children.
type family struct {
	Folder   string
	Children []int
}

// harnessStall is the StallLimit of runHarness.
const harnessStall = 50 * time.Millisecond

// runHarness is a harness to be killed: a cluster with a client. It prints stalls after the family.
func runHarness(_ io.Reader, w io.Writer) error {
	out := json.NewEncoder(w)
	cfg := clustertest.Config(2, func(cfg *cluster.Config) {
		cfg.StallLimit = harnessStall
		cfg.Record = func(e history.Event) {
			if e.Type == history.TypeStall {
				_ = out.Encode(e)
			}
		}
	})
	c, err := New(context.Background(), cfg, cluster.Choice{})
	if err != nil {
		return err
	}
	worker, err := c.Spawn(context.Background(), setup("c1"), func(client.Message) {})
	if err != nil {
		return err
	}
	// A fault in effect must not keep a process alive.
	if err := errors.Join(c.Node("n2").Pause(context.Background()),
		out.Encode(familyOf(c, worker.(*process.Worker)))); err != nil {
		return err
	}
	select {}
}

// setup is a client's. The cluster completes it.
func setup(name string) client.Setup {
	return client.Setup{Name: name, Lock: locks.Reference, Options: locks.Options{TTL: time.Second}}
}

// loop keeps a client busy.
var loop = client.Command{Do: client.DoLoop, Serial: 1, Loop: &client.Loop{Keys: []string{"k1"},
	Hold: time.Millisecond, Think: time.Millisecond}}

func familyOf(c *Cluster, workers ...*process.Worker) family {
	f := family{Folder: c.record.Folder()}
	for _, h := range c.hosts {
		f.Children = append(f.Children, h.proc.Load().PID())
	}
	for _, w := range workers {
		f.Children = append(f.Children, w.Process().PID())
	}
	return f
}

func hostOf(l *Cluster, name string) *host { return l.Nodes[name].Host.(*host) }

// needRedis skips a test without a usable server.
func needRedis(t testing.TB) {
	t.Helper()
	needs.Check(t, needs.Redis, Available(""))
}

// start makes a cluster of nodes n1..nN with clients c1 and c2; change may edit the configuration.
func start(t testing.TB, nodes int, change func(*cluster.Config)) *Cluster {
	t.Helper()
	needRedis(t)
	c, err := New(t.Context(), clustertest.Config(nodes, change), cluster.Choice{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func dial(t testing.TB, addr string) *redis.Client {
	return clustertest.Dial(t, addr, realcluster.Password())
}

func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, 30*time.Second, 2*time.Millisecond, what)
}

// isAlive reports whether any of the processes lives. A zombie does not.
func isAlive(pids ...int) bool {
	return slices.ContainsFunc(pids, func(pid int) bool {
		states, err := process.ThreadStates(pid)
		return err == nil && states != "Z"
	})
}

// inbox has a worker's messages.
type inbox struct {
	clustertest.Recorder[client.Message]
}

func (i *inbox) await(t *testing.T, what string, is func(client.Message) bool) {
	t.Helper()
	eventually(t, what, func() bool { return slices.ContainsFunc(i.All(), is) })
}

// failed reports whether a message is about the worker itself.
func failed(m client.Message) bool { return m.Error != "" && m.Done == 0 }

func spawn(t *testing.T, l *Cluster, name string) (*process.Worker, *inbox) {
	t.Helper()
	in := &inbox{}
	w, err := l.Spawn(t.Context(), setup(name), in.Record)
	require.NoError(t, err)
	return w.(*process.Worker), in
}

func TestSpawn_CompletesTheSetup(t *testing.T) {
	t.Parallel()
	l := start(t, 3, func(cfg *cluster.Config) {
		cfg.Aliases = map[string]string{"n2": "n1"}
		cfg.Seed, cfg.StallLimit = 42, time.Hour
	})
	completed := func(setup client.Setup) (got client.Setup) {
		file := filepath.Join(t.TempDir(), "setup")
		l.Workers.Command = []string{"sh", "-c", "head -n 1 > " + file}
		_, err := l.Spawn(t.Context(), setup, func(client.Message) {})
		require.NoError(t, err)
		eventually(t, "the worker reads its setup", func() bool {
			line, _ := os.ReadFile(file)
			return json.Unmarshal(line, &got) == nil
		})
		return got
	}
	n1, n3 := l.Address("c2", "n1"), l.Address("c2", "n3")
	require.Equal(t, client.Setup{
		Name: "c2", Index: 1, Lock: "redlock", Nodes: []string{n1, n1, n3}, Store: l.Address("c2", "store"),
		Password: realcluster.Password(),
		Seed:     42, Epoch: l.Epoch(), StallLimit: time.Hour,
	}, completed(client.Setup{Name: "c2", Index: 1, Lock: "redlock"}))
	require.NotEqual(t, n1, n3)
	require.Equal(t, []string{l.Address("c1", "n3"), l.Address("c1", "n1")},
		completed(client.Setup{Name: "c1", Nodes: []string{"n3", "n1"}}).Nodes)
}

func TestSpawn_CannotSpawn_Fails(t *testing.T) {
	t.Parallel()
	l := start(t, 1, nil)
	_, err := l.Spawn(t.Context(), client.Setup{Name: "c9"}, nil)
	require.EqualError(t, err, "spawn c9: there is no such client: there are [c1 c2]")
	_, err = l.Spawn(t.Context(), client.Setup{Name: "c1", Nodes: []string{"n7"}}, nil)
	require.EqualError(t, err, "spawn c1: there is no node n7: there are [n1]")
	l.Workers.Command = []string{"/nonexistent/worker"}
	_, err = l.Spawn(t.Context(), client.Setup{Name: "c1"}, nil)
	require.ErrorContains(t, err, "spawn c1: cannot start worker c1")
}

func TestWorker_ClosedOrKilled_IsSilentAndGone(t *testing.T) {
	t.Parallel()
	l := start(t, 1, nil)
	for name, c := range map[string]struct {
		paused bool
		end    func(*process.Worker) error
	}{
		"closed": {false, (*process.Worker).Close}, "closed in a pause": {true, (*process.Worker).Close},
		"killed": {false, (*process.Worker).Kill}, "killed in a pause": {true, (*process.Worker).Kill},
	} {
		w, in := spawn(t, l, "c1")
		require.NoError(t, w.Send(loop))
		in.await(t, "it has the lock", func(m client.Message) bool {
			return m.Event != nil && m.Event.Type == history.TypeOK
		})
		if c.paused {
			require.NoError(t, w.Pause())
		}
		require.NoError(t, c.end(w), name)
		require.False(t, isAlive(w.Process().PID()), name)
		said := len(in.All())
		require.NoError(t, errors.Join(w.Kill(), w.Close()), "a second end changes nothing")
		require.Error(t, w.Pause())
		require.ErrorContains(t, w.Send(client.Command{Do: client.DoAcquire}), "send acquire: worker c1")
		time.Sleep(20 * time.Millisecond)
		require.Len(t, in.All(), said, "%s: the dead do not speak", name)
		require.False(t, slices.ContainsFunc(in.All(), failed), "%s: an end that was asked for is no error", name)
	}
}

func TestWorker_Misbehaves_ErrorSaysHow(t *testing.T) {
	const died = `^worker c1 \(pid \d+\) ended with exit status 3; on stderr it said: I was told to die$`
	for does, c := range map[string]struct{ told, closed string }{
		"echo I was told to die >&2; exit 3": {died, "I was told to die"},
		"echo this is no message":            {`^worker c1 wrote "this is no message": not a message`, "not a message"},
		`echo '{"done":1}'; exec sleep 3600`: {"", "worker c1 did not end within 10s and was killed"},
	} {
		t.Run(does, func(t *testing.T) {
			t.Parallel()
			l := start(t, 1, nil)
			l.Workers.Command = []string{"sh", "-c", "read -r setup; read -r command; " + does}
			w, in := spawn(t, l, "c1")
			require.NoError(t, w.Send(client.Command{Do: client.DoAcquire, Serial: 1}))
			in.await(t, does, func(m client.Message) bool { return m.Done == 1 || failed(m) })
			require.Regexp(t, c.told, in.All()[0].Error)
			if c.told == died {
				require.ErrorContains(t, w.Send(client.Command{Do: client.DoCheck}), c.closed)
			}
			require.ErrorContains(t, w.Close(), c.closed)
			require.False(t, isAlive(w.Process().PID()))
		})
	}
}
