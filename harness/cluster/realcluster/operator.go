package realcluster

import (
	"context"
	"time"

	"example.org/lockproof/harness/cluster/server"
)

// Flush is a FLUSHALL. It returns once no key is left.
func (n *Node) Flush(ctx context.Context) error { return n.reach(ctx, "flush", server.Flush) }

// Command sends one command, as words on a line, and returns the first line of the reply.
func (n *Node) Command(ctx context.Context, line string) (reply string, err error) {
	err = n.reach(ctx, "send a command to", func(ctx context.Context, addr string) error {
		reply, err = server.Query(ctx, addr, line)
		return err
	})
	return reply, err
}

// Fill lets another user of the server fill its memory.
func (n *Node) Fill(ctx context.Context) error {
	return n.reach(ctx, "fill the memory of", server.Fill)
}

// Drain removes what that user has left.
func (n *Node) Drain(ctx context.Context) error {
	return n.reach(ctx, "drain the memory of", server.Drain)
}

// Rewrite begins a BGREWRITEAOF that takes about d.
func (n *Node) Rewrite(ctx context.Context, d time.Duration) error {
	return n.reach(ctx, "rewrite the append-only file of", func(ctx context.Context, addr string) error {
		return server.Rewrite(ctx, addr, d)
	})
}

// Occupy lets another user's script run on it, as cluster.Node says.
func (n *Node) Occupy(ctx context.Context, d time.Duration,
	answers bool) (end func(context.Context) error, err error) {
	err = n.reach(ctx, "run a script on", func(ctx context.Context, addr string) error {
		end, err = server.Occupy(ctx, addr, d, answers)
		return err
	})
	return end, err
}

// Info reads fields of INFO.
func (n *Node) Info(ctx context.Context) (info map[string]string, err error) {
	err = n.reach(ctx, "read INFO of", func(ctx context.Context, addr string) error {
		info, err = server.Information(ctx, addr)
		return err
	})
	return info, err
}

// Promote is REPLICAOF NO ONE. It returns once the server says that it is a master.
func (n *Node) Promote(ctx context.Context) error { return n.reach(ctx, "promote", server.Promote) }
