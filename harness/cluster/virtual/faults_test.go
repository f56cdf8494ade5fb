package virtual_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/harness/history"
)

// TestCloseUnderFaults closes a cluster in which everything is broken at once;
// the bubble would report whatever is left behind.
func TestCloseUnderFaults(t *testing.T) {
	r := &recorder{}
	var closed int64
	inBubble(t, func() {
		c, err := virtual.New(five(1, r))
		require.NoError(t, err)
		var workers []client.Worker
		for i := range 5 {
			w, err := c.Spawn(ctx, setup(i), r.message)
			require.NoError(t, err)
			require.NoError(t, w.Send(client.Command{Do: client.DoLoop, Serial: 1, Loop: &client.Loop{
				Keys: []string{"k"}, Hold: 10 * time.Millisecond, Think: 10 * time.Millisecond}}))
			workers = append(workers, w)
		}
		_, err = c.Link("c3", "n3").Intercept(cluster.Intercept{Command: "SET", Part: cluster.PartReply, Action: cluster.Hold})
		require.NoError(t, err)
		_, err = c.Link("c3", "n4").Intercept(cluster.Intercept{Command: "SET", Part: cluster.PartCommand, Action: cluster.Lose})
		require.NoError(t, err)
		require.NoError(t, c.Sleep(ctx, 50*time.Millisecond))
		require.NoError(t, c.Node("n1").Kill(ctx))
		require.NoError(t, c.Node("n2").Pause(ctx))
		require.NoError(t, c.Link("c1", "n3").Cut(cluster.ToClient))
		require.NoError(t, c.Link("c2", "store").Delay(cluster.Both, time.Hour))
		require.NoError(t, workers[3].Pause())
		require.NoError(t, workers[4].Kill())
		require.NoError(t, c.Sleep(ctx, 50*time.Millisecond))
		closed = c.Now()
		require.NoError(t, c.Close())
		require.NoError(t, c.Close(), "twice does no harm")

		require.ErrorContains(t, c.Node("n1").Start(ctx), "its cluster is closed")
		_, err = c.Spawn(ctx, setup(0), r.message)
		require.ErrorContains(t, err, "the cluster is closed")
		require.Error(t, workers[0].Send(client.Command{Do: client.DoAcquire, Serial: 2, Key: "k"}))
	})
	require.NotEmpty(t, r.events)
	for _, e := range r.events {
		require.LessOrEqual(t, e.Time, closed, "a closed cluster says nothing: %v", e)
	}
}

func TestConfigsAndSetupsThatAreRefused(t *testing.T) {
	one, record := []string{"n1"}, func(history.Event) {}
	for want, cfg := range map[string]cluster.Config{
		"no nodes":                           {Record: record},
		`"" cannot be a name`:                {Nodes: []string{""}, Record: record},
		`cannot be named "store"`:            {Nodes: one, Clients: []string{"store"}, Record: record},
		`"n1" is named twice`:                {Nodes: one, Clients: one, Record: record},
		"the alias n2 does not lead to":      {Nodes: []string{"n1", "n2"}, Aliases: map[string]string{"n2": "n9"}, Record: record},
		"the alias n1 does not lead to":      {Nodes: one, Aliases: map[string]string{"n1": "n1"}, Record: record},
		`no persistence setting "sometimes"`: {Nodes: one, Persistence: "sometimes", Record: record},
		"Config.Record is nil":               {Nodes: one},
		`the master of r1 is to be "n9"`:     {Nodes: one, Replicas: map[string]string{"r1": "n9"}, Record: record},
		`min-replicas-to-write is to be "x"`: {Nodes: one, Settings: map[string]string{"min-replicas-to-write": "x"}, Record: record},
		`min-replicas-max-lag is to be "-1"`: {Nodes: one, Settings: map[string]string{"min-replicas-max-lag": "-1"}, Record: record},
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

// TestClustersInParallel runs one seed in several bubbles at a time: what
// libraries share between them must not show.
func TestClustersInParallel(t *testing.T) {
	histories := make([][]byte, 4)
	var all sync.WaitGroup
	for i := range histories {
		all.Go(func() { histories[i] = contend(t, 3) })
	}
	all.Wait()
	for _, h := range histories[1:] {
		require.Equal(t, "", firstDifference(histories[0], h))
	}
}
