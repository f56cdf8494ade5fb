package local

import (
	"context"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/server"
)

var _ cluster.Server = (*node)(nil)

// Flush is an operator's FLUSHALL. It returns once no key is left.
func (n *node) Flush(ctx context.Context) error { return n.ask(ctx, "flush", server.Flush) }

// Fill lets another user of the server fill its memory.
func (n *node) Fill(ctx context.Context) error { return n.ask(ctx, "fill the memory of", server.Fill) }

// Drain removes what that user has left.
func (n *node) Drain(ctx context.Context) error {
	return n.ask(ctx, "drain the memory of", server.Drain)
}

// Rewrite begins a BGREWRITEAOF that takes about d.
func (n *node) Rewrite(ctx context.Context, d time.Duration) error {
	return n.ask(ctx, "rewrite the append-only file of", func(ctx context.Context, addr string) error {
		return server.Rewrite(ctx, addr, d)
	})
}

// Info reads fields of INFO.
func (n *node) Info(ctx context.Context) (info map[string]string, err error) {
	err = n.ask(ctx, "read INFO of", func(ctx context.Context, addr string) error {
		info, err = server.Information(ctx, addr)
		return err
	})
	return info, err
}

// ask does something to a server that is awake, past every link.
func (n *node) ask(ctx context.Context, what string, do func(ctx context.Context, addr string) error) error {
	ctx, cancel := n.c.bounded(ctx)
	defer cancel()
	n.op.Lock()
	defer n.op.Unlock()
	if _, err := n.awake(); err != nil {
		return n.failed(what, err)
	}
	return n.failed(what, do(ctx, n.addr))
}
