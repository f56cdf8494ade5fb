package client

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// tagged is a go-redis hook that puts a hash tag before the key of every command, so that a lock's keys on its nodes
// hash to different slots.
type tagged string

var _ redis.Hook = tagged("")

// DialHook changes nothing.
func (t tagged) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook sends the command with the tagged key.
func (t tagged) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		defer t.tag(cmd)()
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook sends a pipeline with tagged keys.
func (t tagged) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			defer t.tag(cmd)()
		}
		return next(ctx, cmds)
	}
}

// tag puts the tag before the command's key until restore is called: a lock may send the command to other nodes.
func (t tagged) tag(cmd redis.Cmder) (restore func()) {
	args, place := cmd.Args(), keyPlace(cmd)
	if place >= len(args) {
		return func() {}
	}
	key := args[place]
	args[place] = string(t) + fmt.Sprint(key)
	return func() { args[place] = key }
}

// keyPlace is the index of a command's key, or the number of arguments if it has none. A command without a key that is
// not listed gets a wrong argument, which its server rejects: no key stays untagged unnoticed.
func keyPlace(cmd redis.Cmder) int {
	switch strings.ToLower(cmd.Name()) {
	case "info", "script":
		return len(cmd.Args())
	case "eval", "evalsha":
		return 3
	}
	return 1
}

// clusterClients are a lock's nodes: clients of one Redis Cluster.
func (c *Client) clusterClients(servers []string) []redis.UniversalClient {
	var nodes []redis.UniversalClient
	for i := range c.setup.ClusterClients {
		// Redirections keep go-redis's defaults.
		made := redis.NewClusterClient(c.net.options(c.setup.Options.TTL, 0, c.setup.Routes, servers...).Cluster())
		if c.setup.TaggedKeys {
			made.AddHook(tagged("{" + strconv.Itoa(i+1) + "}:"))
		}
		nodes = append(nodes, made)
	}
	return nodes
}
