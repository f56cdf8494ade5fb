package client

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// MasterName is what Sentinels call the master that they watch.
const MasterName = "lock"

// failover makes a Redis client that asks Sentinel where the master is, as
// go-redis does it. What Sentinel gives are addresses as the Sentinels know them:
// routes gives where this client reaches what is there.
func (n *network) failover(sentinels []string, routes map[string]string, ttl time.Duration) *redis.Client {
	timeout := max(5*time.Second, 3*ttl)
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName:       MasterName,
		SentinelAddrs:    sentinels,
		Password:         n.password,
		SentinelPassword: n.password,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if own, ok := routes[addr]; ok {
				addr = own
			}
			return withFailedConn(n.dial(ctx, network, addr, 0))
		},
		// As in client: see there.
		MaxRetries:            -1,
		DialerRetries:         1,
		DialTimeout:           dialTimeout(ttl),
		ContextTimeoutEnabled: true,
		ReadTimeout:           timeout,
		WriteTimeout:          timeout,
		PoolSize:              poolSize(ttl),
		PipelinePoolSize:      -1,
		ReadBufferSize:        bufferSize,
		WriteBufferSize:       bufferSize,
		Protocol:              2,
		DisableIdentity:       true,
	})
}
