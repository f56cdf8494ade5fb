package client

import (
	"strconv"

	"github.com/redis/go-redis/v9"
)

// clusterClients are the clients of one Redis Cluster that a lock is given as its nodes.
func (c *Client) clusterClients(servers []string) []redis.UniversalClient {
	var nodes []redis.UniversalClient
	for i := range c.setup.ClusterClients {
		// Redirections are its own, and stay as users have them.
		made := redis.NewClusterClient(c.net.options(c.setup.Options.TTL, 0, c.setup.Routes, servers...).Cluster())
		if c.setup.TaggedKeys {
			made.AddHook(tagged("{" + strconv.Itoa(i+1) + "}:"))
		}
		nodes = append(nodes, made)
	}
	return nodes
}
