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
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/cluster/server"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/needs"
)

// roleVariable makes the test binary play another part: that of a worker, or of
// a harness that is going to be killed.
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
	// Workers are this binary too, unless a test says otherwise.
	os.Setenv(roleVariable, "worker")
	// The tests keep records of their own.
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

// fakeWorker obeys a few commands as a client would, and misbehaves on request:
// the key says how.
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

// tick says the time, on the true clock, again and again.
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

// family is what fakeHarness says of itself: its run's folder and children.
type family struct {
	Folder   string
	Children []process.Identity
}

// harnessStall is the StallLimit of fakeHarness.
const harnessStall = 50 * time.Millisecond

// fakeHarness starts a cluster with a client and waits to be killed. Stalls go
// to stdout, after the family.
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
	// A fault in effect must not keep anything alive.
	_ = c.Nodes["n2"].Pause(context.Background())
	_ = out.Encode(familyOf(c, w.(*process.Worker)))
	select {}
}

func familyOf(c *Cluster, workers ...*process.Worker) family {
	f := family{Folder: c.record.Folder()}
	for _, h := range c.hosts {
		f.Children = append(f.Children, h.proc.Load().Identity())
	}
	for _, w := range workers {
		f.Children = append(f.Children, w.Process().Identity())
	}
	return f
}

// at is where a node's server runs.
func at(l *Cluster, name string) *host { return l.Nodes[name].Host.(*host) }

// needRedis skips a test where no server can be run.
func needRedis(t testing.TB) {
	t.Helper()
	needs.Check(t, needs.Redis, Available(""))
}

// start makes a cluster of n1..nN and clients c1, c2; change may change its
// configuration.
func start(t testing.TB, nodes int, change func(*cluster.Config)) *Cluster {
	t.Helper()
	needRedis(t)
	c, err := New(t.Context(), clustertest.Config(nodes, change), cluster.Choice{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// dial is a client of a server.
func dial(t testing.TB, addr string) *redis.Client {
	return clustertest.Dial(t, addr, server.Password())
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, 30*time.Second, 2*time.Millisecond, what)
}

// isAlive says whether one of the processes lives.
func isAlive(ids []process.Identity) bool { return slices.ContainsFunc(ids, process.Identity.Alive) }
