package client

import "github.com/redis/go-redis/v9"

// clusterClients makes nothing: a Redis Cluster needs servers of its own, which a browser
// does not have.
func (c *Client) clusterClients([]string) []redis.UniversalClient { return nil }
