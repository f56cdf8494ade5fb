package virtual_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/virtual"
)

func TestConformance(t *testing.T) {
	clustertest.Run(t, virtual.Kind, func(t *testing.T, nodes int, change func(*cluster.Config), test func(clustertest.Bench)) {
		inBubble(t, func() {
			c, err := virtual.New(clustertest.Config(nodes, change))
			require.NoError(t, err)
			var clients []*redis.Client
			test(clustertest.Bench{Cluster: c, Over: func(client, node string) *redis.Client {
				clients = append(clients, connect(c, client, node))
				return clients[len(clients)-1]
			}})
			for _, client := range clients {
				require.NoError(t, client.Close())
			}
			require.NoError(t, c.Close())
		})
	})
}
