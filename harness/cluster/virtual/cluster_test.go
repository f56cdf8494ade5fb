package virtual_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/harness/cluster/virtual/bubble"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

var ctx = context.Background()

// inBubble runs f in virtual time.
func inBubble(t *testing.T, f func()) {
	t.Helper()
	require.NoError(t, bubble.Run(f))
}

// recorder collects events as the harness does: those of one instant in the
// order of their processes.
type recorder struct {
	mu     sync.Mutex
	events []history.Event
}

func (r *recorder) record(e history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recorder) message(m client.Message) {
	if m.Event != nil {
		r.record(*m.Event)
	}
	if m.Error != "" {
		r.record(history.Event{Type: history.TypeNote, Process: "harness", Text: m.Error})
	}
}

func (r *recorder) lines(t *testing.T) []byte {
	slices.SortStableFunc(r.events, func(a, b history.Event) int {
		if a.Time != b.Time {
			return int(a.Time - b.Time)
		}
		return strings.Compare(a.Process, b.Process)
	})
	var lines bytes.Buffer
	for _, e := range r.events {
		require.NoError(t, json.NewEncoder(&lines).Encode(e))
	}
	return lines.Bytes()
}

func (r *recorder) count(kind history.Type, op history.Op) (n int) {
	for _, e := range r.events {
		if e.Type == kind && e.Op == op {
			n++
		}
	}
	return n
}

// five is a cluster of five nodes and five clients.
func five(seed uint64, r *recorder) cluster.Config {
	return cluster.Config{
		Nodes: names("n", 5), Clients: names("c", 5), Persistence: cluster.PersistEverysec, Seed: seed, Record: r.record,
	}
}

func names(prefix string, n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint(prefix, i+1))
	}
	return all
}

func setup(i int) client.Setup {
	return client.Setup{
		Name: fmt.Sprint("c", i+1), Index: i, Lock: locks.Reference,
		Options: locks.Options{TTL: 100 * time.Millisecond, RetryMin: 10 * time.Millisecond, RetryMax: 50 * time.Millisecond},
	}
}

// contend lets five clients fight over two keys for a virtual second and a half, while
// nodes are killed, paused, cut off, and run on wrong clocks.
func contend(t *testing.T, seed uint64) []byte {
	r := &recorder{}
	inBubble(t, func() {
		c, err := virtual.New(five(seed, r))
		require.NoError(t, err)
		var workers []client.Worker
		for i := range 5 {
			w, err := c.Spawn(ctx, setup(i), r.message)
			require.NoError(t, err)
			workers = append(workers, w)
			require.NoError(t, w.Send(client.Command{Do: client.DoLoop, Serial: 1, Loop: &client.Loop{
				Keys: []string{"k1", "k2"}, Hold: 10 * time.Millisecond, Think: 10 * time.Millisecond}}))
		}
		mistreat(t, c, workers)
		require.NoError(t, c.Close())
	})
	require.Greater(t, r.count(history.TypeOK, history.OpAcquire), 20, "the clients should get the lock now and then")
	require.Greater(t, r.count(history.TypeOK, history.OpWrite), 20)
	return r.lines(t)
}

// mistreat spends a second and a half on faults.
func mistreat(t *testing.T, c *virtual.Cluster, workers []client.Worker) {
	step := func(err error) {
		require.NoError(t, err)
		require.NoError(t, c.Sleep(ctx, 120*time.Millisecond))
	}
	step(nil)
	step(c.Node("n1").Kill(ctx))
	step(c.Node("n1").Start(ctx))
	step(c.Node("n2").Pause(ctx))
	step(c.Node("n2").Resume(ctx))
	for _, n := range names("n", 5) {
		require.NoError(t, c.Link("c1", n).Cut(cluster.Both))
	}
	step(c.Node("n3").SetClock(ctx, time.Second, 1.1))
	for _, n := range names("n", 5) {
		require.NoError(t, c.Link("c1", n).Heal(cluster.Both))
	}
	step(workers[1].Pause())
	step(workers[1].Resume())
	step(c.Link("c3", "n4").Delay(cluster.ToNode, 3*time.Millisecond))
	_, err := c.Node("n5").PowerLoss(ctx)
	step(err)
	step(c.Node("n5").Start(ctx))
	step(workers[4].Kill())
}

func TestOneSeedGivesOneHistory(t *testing.T) {
	runs := 20
	if testing.Short() {
		runs = 3
	}
	was := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(was)
	for _, seed := range []uint64{1, 2} {
		first := contend(t, seed)
		for run := range runs {
			runtime.GOMAXPROCS(1 + run%4)
			again := contend(t, seed)
			require.Equal(t, firstDifference(first, again), "", "seed %d, run %d", seed, run)
		}
	}
	require.NotEqual(t, contend(t, 1), contend(t, 2), "another seed gives another history")
}

// firstDifference is the first line in which two histories differ.
func firstDifference(a, b []byte) string {
	as, bs := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return fmt.Sprintf("line %d:\n%s\n%s", i+1, as[i], bs[i])
		}
	}
	if len(as) != len(bs) {
		return fmt.Sprintf("%d and %d lines", len(as), len(bs))
	}
	return ""
}
