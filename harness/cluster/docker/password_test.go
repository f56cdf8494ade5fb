package docker

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// Who can dial the published ports, but has no password, gets nothing from any
// server, past the links or over them.
func TestStrangersAreRefused(t *testing.T) {
	c := start(t, 1, func(cfg *cluster.Config) {
		cfg.Replicas, cfg.Sentinels = map[string]string{"r1": "n1"}, 3
	})
	var addresses []string
	for _, addr := range c.Paths {
		addresses = append(addresses, addr)
	}
	for _, name := range []string{"n1", "r1", history.StoreName, "s1", "s2", "s3"} {
		addresses = append(addresses, c.project.boxes[name].outside)
	}
	for _, addr := range addresses {
		stranger := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, Protocol: 2, DisableIdentity: true})
		require.ErrorContains(t, stranger.Ping(t.Context()).Err(), "NOAUTH", addr)
		require.NoError(t, stranger.Close())
	}
}
