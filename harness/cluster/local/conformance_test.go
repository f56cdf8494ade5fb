package local

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	clustertest.Run(t, Kind, func(t *testing.T, nodes int, change func(*cluster.Config), test func(clustertest.Bench)) {
		l := start(t, nodes, change)
		test(clustertest.Bench{Cluster: l, Over: func(client, node string) *redis.Client { return dial(t, l.Address(client, node)) }})
	})
}
