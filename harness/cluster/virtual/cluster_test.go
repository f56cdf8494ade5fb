package virtual_test

import (
	"cmp"
	"context"
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
	"example.org/lockproof/harness/cluster/clustertest"
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

// recorder collects events as the harness does: events of one instant in the
// order of their processes.
type recorder struct{ clustertest.Events }

func (r *recorder) message(m client.Message) {
	if m.Event != nil {
		r.Record(*m.Event)
	}
	if m.Error != "" {
		r.Record(history.Event{Type: history.TypeNote, Process: "harness", Text: m.Error})
	}
}

func (r *recorder) history() []history.Event {
	events := r.All()
	slices.SortStableFunc(events, func(a, b history.Event) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), strings.Compare(a.Process, b.Process))
	})
	return events
}

// succeeded counts the successful operations.
func (r *recorder) succeeded(op history.Op) (n int) {
	for _, e := range r.All() {
		if e.Type == history.TypeOK && e.Op == op {
			n++
		}
	}
	return n
}

// five configures five nodes and five clients.
func five(seed uint64, r *recorder) cluster.Config {
	return cluster.Config{
		Nodes: fiveOf("n"), Clients: fiveOf("c"), Persistence: cluster.PersistEverysec, Seed: seed, Record: r.Record,
	}
}

// fiveOf are n1 to n5, or c1 to c5.
func fiveOf(prefix string) []string {
	var all []string
	for i := range 5 {
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

// contend runs five clients that contend for two keys for a virtual second and a half, while nodes are killed, paused,
// cut off, and run on wrong clocks. It closes the cluster with all faults in effect: the bubble would report goroutines
// that remain.
func contend(t *testing.T, seed uint64) []history.Event {
	r := &recorder{}
	var closed int64
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
		closed = c.Now()
		require.NoError(t, c.Close())
		require.NoError(t, c.Close(), "twice does no harm")
		require.ErrorContains(t, c.Node("n1").Start(ctx), "its cluster is closed")
		_, err = c.Spawn(ctx, setup(0), r.message)
		require.ErrorContains(t, err, "the cluster is closed")
		require.Error(t, workers[0].Send(client.Command{Do: client.DoAcquire, Serial: 2, Key: "k"}))
	})
	require.Greater(t, r.succeeded(history.OpAcquire), 20, "the clients should get the lock now and then")
	require.Greater(t, r.succeeded(history.OpWrite), 20)
	all := r.history()
	require.LessOrEqual(t, all[len(all)-1].Time, closed, "a closed cluster says nothing")
	return all
}

// mistreat injects faults for a second and a half.
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
	for _, n := range fiveOf("n") {
		require.NoError(t, c.Link("c1", n).Cut(history.Both))
	}
	step(c.Node("n3").SetClock(ctx, time.Second, 1.1))
	for _, n := range fiveOf("n") {
		require.NoError(t, c.Link("c1", n).Heal(history.Both))
	}
	step(workers[1].Pause())
	step(workers[1].Resume())
	step(c.Link("c3", "n4").Delay(history.ToNode, 3*time.Millisecond))
	_, err := c.Node("n5").PowerLoss(ctx)
	step(err)
	step(c.Node("n5").Start(ctx))
	step(workers[4].Kill())

	_, err = c.Link("c3", "n3").Intercept(cluster.Intercept{Command: "SET", Part: history.PartReply, Action: cluster.Hold})
	require.NoError(t, err)
	_, err = c.Link("c3", "n4").Intercept(cluster.Intercept{Command: "SET", Part: history.PartCommand,
		Action: cluster.Lose})
	step(err)
	require.NoError(t, c.Node("n1").Kill(ctx))
	require.NoError(t, c.Node("n2").Pause(ctx))
	require.NoError(t, c.Link("c1", "n3").Cut(history.ToClient))
	require.NoError(t, c.Link("c2", "store").Delay(history.Both, time.Hour))
	step(workers[3].Pause())
}

// The number of processors, other trials in the process, and state that libraries share between bubbles have no effect.
func TestOneSeedGivesOneHistory(t *testing.T) {
	runs := 5
	if testing.Short() {
		runs = 1
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, seed := range []uint64{1, 2} {
		first := contend(t, seed)
		for run := range runs {
			runtime.GOMAXPROCS(1 + run%4)
			var again [4][]history.Event
			var all sync.WaitGroup
			for i := range again {
				all.Go(func() { again[i] = contend(t, seed) })
			}
			all.Wait()
			for _, h := range again {
				require.Len(t, h, len(first))
				for i := range h {
					require.Equal(t, first[i], h[i], "event %d, seed %d, run %d", i, seed, run)
				}
			}
		}
	}
	require.NotEqual(t, contend(t, 1), contend(t, 2), "another seed gives another history")
}

func TestNewAndSpawn_InvalidConfig_Fails(t *testing.T) {
	one, record := []string{"n1"}, func(history.Event) {}
	for want, cfg := range map[string]cluster.Config{
		"no nodes":                {Record: record},
		`"" cannot be a name`:     {Nodes: []string{""}, Record: record},
		`cannot be named "store"`: {Nodes: one, Clients: []string{"store"}, Record: record},
		`"n1" is named twice`:     {Nodes: one, Clients: one, Record: record},
		"the alias n2 does not lead to": {Nodes: []string{"n1", "n2"}, Aliases: map[string]string{"n2": "n9"},
			Record: record},
		"the alias n1 does not lead to":      {Nodes: one, Aliases: map[string]string{"n1": "n1"}, Record: record},
		`no persistence setting "sometimes"`: {Nodes: one, Persistence: "sometimes", Record: record},
		"Config.Record is nil":               {Nodes: one},
		`invalid master "n9" of r1`:          {Nodes: one, Replicas: map[string]string{"r1": "n9"}, Record: record},
		`invalid min-replicas-to-write "x"`: {Nodes: one, Settings: map[string]string{"min-replicas-to-write": "x"},
			Record: record},
		`invalid min-replicas-max-lag "-1"`: {Nodes: one, Settings: map[string]string{"min-replicas-max-lag": "-1"},
			Record: record},
	} {
		inBubble(t, func() {
			_, err := virtual.New(cfg)
			require.ErrorContains(t, err, want)
		})
	}
	inBubble(t, func() {
		c, err := virtual.New(five(1, &recorder{}))
		require.NoError(t, err)
		for want, s := range map[string]client.Setup{
			"there is no such client": {Name: "c9", Lock: "redlock"},
			"there is no node n9":     {Name: "c1", Lock: "redlock", Nodes: []string{"n9"}},
			`no lock named "magic"`:   {Name: "c1", Lock: "magic", Options: setup(0).Options},
		} {
			_, err := c.Spawn(ctx, s, func(client.Message) {})
			require.ErrorContains(t, err, want)
		}
		require.NoError(t, c.Close())
	})
}
