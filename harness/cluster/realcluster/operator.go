package realcluster

import (
	"context"
	"time"

	"example.org/lockproof/harness/cluster/server"
)

func (n *Node) Flush(ctx context.Context) error { return n.reach(ctx, "flush", server.Flush) }

func (n *Node) Command(ctx context.Context, line string) (reply string, err error) {
	err = n.reach(ctx, "send a command to", func(ctx context.Context, addr string) error {
		reply, err = server.Query(ctx, addr, line)
		return err
	})
	return reply, err
}

func (n *Node) Fill(ctx context.Context) error {
	return n.reach(ctx, "fill the memory of", server.Fill)
}

func (n *Node) Drain(ctx context.Context) error {
	return n.reach(ctx, "drain the memory of", server.Drain)
}

func (n *Node) Rewrite(ctx context.Context, d time.Duration) error {
	return n.reach(ctx, "rewrite the append-only file of", func(ctx context.Context, addr string) error {
		return server.Rewrite(ctx, addr, d)
	})
}

func (n *Node) Occupy(ctx context.Context, d time.Duration,
	answers bool) (end func(context.Context) error, err error) {
	err = n.reach(ctx, "run a script on", func(ctx context.Context, addr string) error {
		end, err = server.Occupy(ctx, addr, d, answers)
		return err
	})
	return end, err
}

func (n *Node) Info(ctx context.Context) (info map[string]string, err error) {
	err = n.reach(ctx, "read INFO of", func(ctx context.Context, addr string) error {
		info, err = server.Information(ctx, addr)
		return err
	})
	return info, err
}

func (n *Node) Promote(ctx context.Context) error { return n.reach(ctx, "promote", server.Promote) }
