//go:build !js

package client

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// redisCluster makes a client of a Redis Cluster, as go-redis does it: it asks one of
// the servers which has what, and follows redirections. What servers give are addresses
// as the cluster knows them: routes gives where this client reaches what is there.
func (n *network) redisCluster(servers []string, routes map[string]string, ttl time.Duration) *redis.ClusterClient {
	timeout := max(5*time.Second, 3*ttl)
	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs:    servers,
		Password: n.password,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if own, ok := routes[addr]; ok {
				addr = own
			}
			return withFailedConn(n.dial(ctx, network, addr, 0))
		},
		// As in client: see there. Redirections are its own, and stay as users have them.
		DialerRetries:            1,
		DialTimeout:              dialTimeout(ttl),
		ContextTimeoutEnabled:    true,
		ReadTimeout:              timeout,
		WriteTimeout:             timeout,
		PoolSize:                 poolSize(ttl),
		PipelinePoolSize:         -1,
		ReadBufferSize:           bufferSize,
		WriteBufferSize:          bufferSize,
		Protocol:                 2,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// clusterClients are the clients of one Redis Cluster that a lock is given as its nodes.
func (c *Client) clusterClients(servers []string) []redis.UniversalClient {
	var nodes []redis.UniversalClient
	for i := range c.setup.ClusterClients {
		made := c.net.redisCluster(servers, c.setup.Routes, c.setup.Options.TTL)
		if c.setup.TaggedKeys {
			made.AddHook(tagged("{" + strconv.Itoa(i+1) + "}:"))
		}
		nodes = append(nodes, made)
	}
	return nodes
}
