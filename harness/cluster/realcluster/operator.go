package realcluster

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// operate calls do with a client of the server, as an operator who bypasses the links.
func (n *Node) operate(ctx context.Context, what string, do func(context.Context, *redis.Client) error) error {
	return n.reach(ctx, what, func(ctx context.Context, addr string) error {
		return withClient(addr, func(client *redis.Client) error { return do(ctx, client) })
	})
}

func (n *Node) Command(ctx context.Context, line string) (reply string, err error) {
	err = n.reach(ctx, "send a command to", func(ctx context.Context, addr string) error {
		reply, err = query(ctx, addr, line)
		return err
	})
	return reply, err
}

func (n *Node) Occupy(ctx context.Context, d time.Duration,
	answers bool) (end func(context.Context) error, err error) {
	err = n.reach(ctx, "run a script on", func(ctx context.Context, addr string) error {
		end, err = occupy(ctx, addr, d, answers)
		return err
	})
	return end, err
}

func (n *Node) Flush(ctx context.Context) error { return n.operate(ctx, "flush", flush) }

func (n *Node) Fill(ctx context.Context) error { return n.operate(ctx, "fill the memory of", fill) }

func (n *Node) Drain(ctx context.Context) error { return n.operate(ctx, "drain the memory of", drain) }

func (n *Node) Promote(ctx context.Context) error { return n.operate(ctx, "promote", promote) }

func (n *Node) Rewrite(ctx context.Context, d time.Duration) error {
	return n.operate(ctx, "rewrite the append-only file of", func(ctx context.Context, client *redis.Client) error {
		return rewrite(ctx, client, d)
	})
}

func (n *Node) Info(ctx context.Context) (info map[string]string, err error) {
	err = n.operate(ctx, "read INFO of", func(ctx context.Context, client *redis.Client) error {
		info, err = information(ctx, client)
		return err
	})
	return info, err
}
