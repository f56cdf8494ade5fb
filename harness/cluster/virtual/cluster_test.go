package virtual_test

import (
	"context"
	"errors"
	"fmt"
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

var fiveClients = []string{"c1", "c2", "c3", "c4", "c5"}

// five configures five nodes and five clients.
func five(record func(history.Event)) cluster.Config {
	return clustertest.Config(5, func(cfg *cluster.Config) {
		cfg.Clients, cfg.Persistence, cfg.Record = fiveClients, cluster.PersistEverysec, record
	})
}

func setup(i int) client.Setup {
	return client.Setup{
		Name: fmt.Sprint("c", i+1), Index: i, Lock: locks.Reference,
		Options: locks.Options{TTL: 100 * time.Millisecond, RetryMin: 10 * time.Millisecond, RetryMax: 50 * time.Millisecond},
	}
}

// The bubble would report a goroutine that remains.
func TestClose_EveryFaultInEffect_EndsEverything(t *testing.T) {
	var events clustertest.Events
	record := func(m client.Message) {
		if m.Event != nil {
			events.Record(*m.Event)
		}
	}
	var closed int64
	inBubble(t, func() {
		c, err := virtual.New(five(events.Record))
		require.NoError(t, err)
		var workers []client.Worker
		for i := range 5 {
			w, err := c.Spawn(ctx, setup(i), record)
			require.NoError(t, err)
			workers = append(workers, w)
			require.NoError(t, w.Send(client.Command{Do: client.DoLoop, Serial: 1, Loop: &client.Loop{
				Keys: []string{"k1", "k2"}, Hold: 10 * time.Millisecond, Think: 10 * time.Millisecond}}))
		}
		require.NoError(t, c.Sleep(ctx, 500*time.Millisecond))
		breakEverything(t, c, workers)
		require.NoError(t, c.Sleep(ctx, 120*time.Millisecond))
		rdb := connect(c, "c5", "n5")
		require.NoError(t, rdb.Ping(ctx).Err())
		go rdb.Set(ctx, "k3", "on its way", time.Second)
		require.NoError(t, c.Sleep(ctx, 50*time.Microsecond))
		closed = c.Now()
		require.NoError(t, c.Close())
		require.NoError(t, c.Close(), "twice does no harm")
		require.NoError(t, rdb.Close())
		require.ErrorContains(t, c.Node("n1").Start(ctx), "its cluster is closed")
		_, err = c.Spawn(ctx, setup(0), record)
		require.ErrorContains(t, err, "the cluster is closed")
		require.Error(t, workers[0].Send(client.Command{Do: client.DoAcquire, Serial: 2, Key: "k"}))
	})
	granted := 0
	for _, e := range events.All() {
		if e.Type == history.TypeOK && e.Op == history.OpAcquire {
			granted++
		}
		require.LessOrEqual(t, e.Time, closed, "a closed cluster says nothing")
	}
	require.Greater(t, granted, 10, "the clients should get the lock now and then")
}

// breakEverything leaves a fault of each kind in effect, and a majority of nodes that works.
func breakEverything(t *testing.T, c *virtual.Cluster, workers []client.Worker) {
	_, held := c.Link("c3", "n3").Intercept(cluster.Intercept{Command: "SET", Part: history.PartReply,
		Action: cluster.Hold})
	_, swallowed := c.Link("c3", "n4").Intercept(cluster.Intercept{Command: "SET", Part: history.PartCommand,
		Action: cluster.Lose})
	require.NoError(t, errors.Join(held, swallowed,
		c.Node("n1").Kill(ctx), c.Node("n2").Pause(ctx), c.Node("n3").SetClock(ctx, time.Second, 1.1),
		c.Link("c1", "n3").Cut(history.ToClient), c.Link("c2", history.StoreName).Delay(history.Both, time.Hour),
		workers[3].Pause(), workers[4].Kill()))
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
		c, err := virtual.New(five(func(history.Event) {}))
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
