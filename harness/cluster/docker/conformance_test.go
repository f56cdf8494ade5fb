package docker

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
)

func TestConformance(t *testing.T) {
	clustertest.Run(t, Kind, func(t *testing.T, nodes int, change func(*cluster.Config), test func(clustertest.Bench)) {
		c := start(t, nodes, change)
		test(clustertest.Bench{Cluster: c, Over: func(client, node string) *redis.Client { return over(t, c, client, node) }})
	})
}
