package virtual_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/virtual"
)

func TestConformance(t *testing.T) { clustertest.Run(t, virtual.Kind, with) }

// with runs a test on a cluster in virtual time.
func with(t *testing.T, nodes int, change func(*cluster.Config), test func(clustertest.Bench)) {
	t.Helper()
	on(t, "", clustertest.Config(nodes, change), test)
}

// on runs a test on a cluster of a release in virtual time, "" for a suitable one.
func on(t *testing.T, release string, cfg cluster.Config, test func(clustertest.Bench)) {
	t.Helper()
	maker, err := virtual.Kind.Open(ctx, cluster.Choice{Server: release}, nil)
	require.NoError(t, err)
	inBubble(t, func() {
		c, err := maker.New(ctx, cfg)
		require.NoError(t, err)
		var clients []*redis.Client
		test(clustertest.Bench{Cluster: c, Over: func(client, node string) *redis.Client {
			clients = append(clients, connect(c, client, node))
			return clients[len(clients)-1]
		}})
		for _, client := range clients {
			_ = client.Close() // a test may have closed it
		}
		require.NoError(t, c.Close())
	})
}

// keeps sets the persistence of a configuration.
func keeps(p cluster.Persistence) func(*cluster.Config) {
	return func(cfg *cluster.Config) { cfg.Persistence = p }
}

// connect makes a go-redis client over a link.
func connect(c cluster.Cluster, from, to string) *redis.Client {
	return clustertest.Client(&redis.Options{Addr: to, PoolSize: 100, Dialer: virtual.Dial(c.(*virtual.Cluster), from)})
}

// awaitConnectionEnd waits until a connection's end reaches its client, which would reuse it until then.
func awaitConnectionEnd(c cluster.Cluster) { _ = c.Sleep(ctx, time.Millisecond) }
