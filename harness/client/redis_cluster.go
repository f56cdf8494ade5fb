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
		sent := t.with(cmd)
		err := next(ctx, sent)
		return copyReply(cmd, sent, err)
	}
}

// ProcessPipelineHook sends a pipeline with tagged keys.
func (t tagged) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		sent := make([]redis.Cmder, len(cmds))
		for i, cmd := range cmds {
			sent[i] = t.with(cmd)
		}
		err := next(ctx, sent)
		for i, cmd := range cmds {
			if failed := copyReply(cmd, sent[i], sent[i].Err()); failed != nil && err == nil {
				err = failed
			}
		}
		return err
	}
}

// with is a copy of the command with the tagged key, since a lock may send the same command to other nodes. A command
// without a key is returned unchanged.
func (t tagged) with(cmd redis.Cmder) redis.Cmder {
	place := keyPlace(cmd)
	if place >= len(cmd.Args()) {
		return cmd
	}
	key, ok := cmd.Args()[place].(string)
	if !ok {
		return cmd
	}
	sent := cmd.Clone()
	sent.Args()[place] = string(t) + key
	return sent
}

// keyPlace is the index of a command's key, or the number of arguments if it has none (INFO, SCRIPT).
func keyPlace(cmd redis.Cmder) int {
	switch strings.ToLower(cmd.Name()) {
	case "eval", "evalsha":
		return 3
	case "set", "setnx", "get", "del", "pexpire", "expire", "pttl", "incr":
		return 1
	}
	return len(cmd.Args())
}

// copyReply copies the reply of the sent copy to the command.
func copyReply(cmd, sent redis.Cmder, err error) error {
	if cmd == sent {
		return err
	}
	cmd.SetErr(sent.Err())
	switch sent := sent.(type) {
	case *redis.Cmd:
		cmd.(*redis.Cmd).SetVal(sent.Val())
	case *redis.StringCmd:
		cmd.(*redis.StringCmd).SetVal(sent.Val())
	case *redis.StatusCmd:
		cmd.(*redis.StatusCmd).SetVal(sent.Val())
	case *redis.BoolCmd:
		cmd.(*redis.BoolCmd).SetVal(sent.Val())
	case *redis.IntCmd:
		cmd.(*redis.IntCmd).SetVal(sent.Val())
	case *redis.DurationCmd:
		cmd.(*redis.DurationCmd).SetVal(sent.Val())
	default:
		err = fmt.Errorf("%s: its answer, a %T, cannot be passed on", sent.Name(), sent)
		cmd.SetErr(err)
	}
	return err
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
