package local

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/cluster/realcluster"
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/needs"
)

// roleVariable makes the test binary a worker, or a harness to be killed.
const roleVariable = "LOCKPROOF_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "worker":
		fakeWorker()
		return
	case "harness":
		fakeHarness()
		return
	}
	// Workers run this binary too, unless a test changes that.
	os.Setenv(roleVariable, "worker")
	// The tests keep their own records.
	state, err := os.MkdirTemp("", "local-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_CACHE_HOME", state)
	os.Setenv("HOME", state)
	code := m.Run()
	os.RemoveAll(state)
	os.Exit(code)
}

// fakeWorker obeys a few commands as a client would, and misbehaves according to the key.
func fakeWorker() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Scan()
	say(client.Message{Event: &history.Event{Type: history.TypeNote, Text: lines.Text()}})
	var setup client.Setup
	_ = json.Unmarshal(lines.Bytes(), &setup)
	hung := false
	for lines.Scan() {
		var c client.Command
		_ = json.Unmarshal(lines.Bytes(), &c)
		switch {
		case c.Key == "die":
			fmt.Fprintln(os.Stderr, "I was told to die")
			os.Exit(3)
		case c.Key == "babble":
			fmt.Println("this is no message")
		case c.Key == "hang":
			hung = true
		case c.Do == client.DoLoop:
			go tick(setup.Epoch)
		case c.Do == client.DoExit && !hung:
			return
		}
		say(client.Message{Done: c.Serial, Outcome: history.TypeOK})
	}
	if hung {
		time.Sleep(time.Hour) // select {} would be a deadlock, which Go without cgo ends
	}
}

// tick sends the true time repeatedly.
func tick(epoch int64) {
	for {
		say(client.Message{Event: &history.Event{Type: history.TypeNote, Text: "tick", Time: realtime.Monotonic() - epoch}})
		time.Sleep(time.Millisecond)
	}
}

var saying sync.Mutex

func say(m client.Message) {
	b, _ := json.Marshal(m)
	saying.Lock()
	defer saying.Unlock()
	os.Stdout.Write(append(b, '\n'))
}

// family is fakeHarness's report: its run's folder, and the numbers of its children.
type family struct {
	Folder   string
	Children []int
}

// harnessStall is the StallLimit of fakeHarness.
const harnessStall = 50 * time.Millisecond

// fakeHarness starts a cluster with a client and waits to be killed. It prints stalls to stdout, after the family.
func fakeHarness() {
	os.Setenv(roleVariable, "worker")
	out := json.NewEncoder(os.Stdout)
	c, err := New(context.Background(), cluster.Config{
		Nodes: []string{"n1", "n2"}, Clients: []string{"c1"},
		StallLimit: harnessStall,
		Record: func(e history.Event) {
			if e.Type == history.TypeStall {
				_ = out.Encode(e)
			}
		},
	}, cluster.Choice{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	w, err := c.Spawn(context.Background(), client.Setup{Name: "c1"}, func(client.Message) {})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// A fault in effect must not keep a process alive.
	_ = c.Nodes["n2"].Pause(context.Background())
	_ = out.Encode(familyOf(c, w.(*process.Worker)))
	select {}
}

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

// inbox collects a worker's messages.
type inbox struct {
	mu  sync.Mutex
	all []client.Message
}

func (i *inbox) take(m client.Message) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.all = append(i.all, m)
}

func (i *inbox) messages() []client.Message {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.all)
}

func (i *inbox) await(t *testing.T, serial int) {
	t.Helper()
	eventually(t, "the command ends", func() bool {
		return slices.ContainsFunc(i.messages(), func(m client.Message) bool { return m.Done == serial })
	})
}

// errors are the texts of the messages about the worker itself.
func (i *inbox) errors() (texts []string) {
	for _, m := range i.messages() {
		if m.Error != "" && m.Done == 0 {
			texts = append(texts, m.Error)
		}
	}
	return texts
}

func spawn(t *testing.T, l *Cluster, setup client.Setup) (*process.Worker, *inbox) {
	t.Helper()
	in := &inbox{}
	w, err := l.Spawn(t.Context(), setup, in.take)
	require.NoError(t, err)
	eventually(t, "the worker echoes its setup", func() bool { return len(in.messages()) > 0 })
	return w.(*process.Worker), in
}

func TestSpawn_CompletesTheSetup(t *testing.T) {
	t.Parallel()
	l := start(t, 3, func(cfg *cluster.Config) {
		cfg.Aliases = map[string]string{"n2": "n1"}
		cfg.Seed, cfg.StallLimit = 42, time.Hour
	})
	_, in := spawn(t, l, client.Setup{Name: "c2", Index: 1, Lock: "redlock"})
	var got client.Setup
	require.NoError(t, json.Unmarshal([]byte(in.messages()[0].Event.Text), &got))
	n1, n3 := l.Address("c2", "n1"), l.Address("c2", "n3")
	require.Equal(t, client.Setup{
		Name: "c2", Index: 1, Lock: "redlock", Nodes: []string{n1, n1, n3}, Store: l.Address("c2", "store"),
		Password: realcluster.Password(),
		Seed:     42, Epoch: l.Epoch(), StallLimit: time.Hour,
	}, got)
	require.NotEqual(t, n1, n3)

	_, in = spawn(t, l, client.Setup{Name: "c1", Nodes: []string{"n3", "n1"}})
	require.NoError(t, json.Unmarshal([]byte(in.messages()[0].Event.Text), &got))
	require.Equal(t, []string{l.Address("c1", "n3"), l.Address("c1", "n1")}, got.Nodes)
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

func TestWorkerClose_RunningOrPaused_EndsIt(t *testing.T) {
	t.Parallel()
	l := start(t, 1, nil)
	for i, name := range []string{"c1", "c2"} {
		w, in := spawn(t, l, client.Setup{Name: name})
		require.NoError(t, w.Send(client.Command{Do: client.DoAcquire, Serial: 1}))
		in.await(t, 1)
		if i == 1 {
			require.NoError(t, w.Pause())
		}
		require.NoError(t, w.Close())
		require.False(t, isAlive(w.Process().PID()))
		require.NoError(t, w.Close(), "a second close changes nothing")
		require.ErrorContains(t, w.Send(client.Command{Do: client.DoAcquire}), "send acquire: worker "+name)
		require.Empty(t, in.errors())
	}
}

func TestPauseStopsAWorkerUntilResume(t *testing.T) {
	t.Parallel()
	l := start(t, 1, nil)
	w, in := spawn(t, l, client.Setup{Name: "c1"})
	require.NoError(t, w.Send(client.Command{Do: client.DoLoop}))
	eventually(t, "it ticks", func() bool { return len(in.messages()) > 10 })

	require.NoError(t, w.Pause())
	from := l.Now()
	require.NoError(t, w.Send(client.Command{Do: client.DoAcquire, Serial: 7}))
	time.Sleep(100 * time.Millisecond)
	until := l.Now()
	require.NoError(t, w.Resume())
	in.await(t, 7) // sent during the pause
	eventually(t, "it ticks again", func() bool {
		all := in.messages()
		return all[len(all)-1].Event != nil && all[len(all)-1].Event.Time > until
	})
	for _, m := range in.messages() {
		if m.Event != nil && m.Event.Text == "tick" {
			require.False(t, m.Event.Time > from && m.Event.Time < until, "a tick at %d in a pause from %d to %d",
				m.Event.Time, from, until)
		}
	}
}

func TestWorkerKill_DeliversEarlierMessages(t *testing.T) {
	t.Parallel()
	l := start(t, 1, nil)
	w, in := spawn(t, l, client.Setup{Name: "c1"})
	require.NoError(t, w.Send(client.Command{Do: client.DoLoop}))
	require.NoError(t, w.Pause())
	require.NoError(t, w.Kill())
	require.False(t, isAlive(w.Process().PID()))
	said := len(in.messages())
	time.Sleep(20 * time.Millisecond)
	require.Len(t, in.messages(), said, "the dead do not speak")
	require.NoError(t, w.Kill())
	require.NoError(t, w.Close())
	require.Error(t, w.Pause())
	require.Empty(t, in.errors(), "a death that was asked for is no error")

	again, _ := spawn(t, l, client.Setup{Name: "c1"})
	require.NotEqual(t, w.Process().PID(), again.Process().PID())
}

func TestWorker_Misbehaves_ErrorSaysHow(t *testing.T) {
	const died = `^worker c1 \(pid \d+\) ended with exit status 3; on stderr it said: I was told to die$`
	for key, c := range map[string]struct{ told, closed string }{
		"die":    {died, "I was told to die"},
		"babble": {`^worker c1 wrote "this is no message": not a message`, "not a message"},
		"hang":   {"", "worker c1 did not end within 10s and was killed"},
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			w, in := spawn(t, start(t, 1, nil), client.Setup{Name: "c1"})
			require.NoError(t, w.Send(client.Command{Do: client.DoAcquire, Key: key, Serial: 1}))
			if c.told == "" {
				in.await(t, 1)
			} else {
				eventually(t, "it is told", func() bool { return len(in.errors()) == 1 })
				require.Regexp(t, c.told, in.errors()[0])
			}
			if key == "die" {
				require.ErrorContains(t, w.Send(client.Command{Do: client.DoCheck}), c.closed)
			}
			if err := w.Close(); c.closed == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.closed)
			}
			require.False(t, isAlive(w.Process().PID()))
		})
	}
}
