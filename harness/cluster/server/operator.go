package server

import (
	"context"
	"time"
)

// Operator does to a server what those do who run it. It is the part of
// cluster.Server, and of cluster.Replica, that is the same on every cluster of
// real servers.
type Operator struct {
	// Reach calls do with the address of the server, past every link, or fails if
	// the server is down or paused. What is asked of it, as in "flush", is for
	// the error.
	Reach func(ctx context.Context, what string, do func(ctx context.Context, addr string) error) error
}

// Flush is a FLUSHALL. It returns once no key is left.
func (o Operator) Flush(ctx context.Context) error { return o.Reach(ctx, "flush", Flush) }

// Command sends one command, as words on a line, and returns the first line of the reply.
func (o Operator) Command(ctx context.Context, line string) (reply string, err error) {
	err = o.Reach(ctx, "send a command to", func(ctx context.Context, addr string) error {
		reply, err = Query(ctx, addr, line)
		return err
	})
	return reply, err
}

// Fill lets another user of the server fill its memory.
func (o Operator) Fill(ctx context.Context) error { return o.Reach(ctx, "fill the memory of", Fill) }

// Drain removes what that user has left.
func (o Operator) Drain(ctx context.Context) error {
	return o.Reach(ctx, "drain the memory of", Drain)
}

// Rewrite begins a BGREWRITEAOF that takes about d.
func (o Operator) Rewrite(ctx context.Context, d time.Duration) error {
	return o.Reach(ctx, "rewrite the append-only file of", func(ctx context.Context, addr string) error {
		return Rewrite(ctx, addr, d)
	})
}

// Occupy lets another user's script run on it, as cluster.Scripted says.
func (o Operator) Occupy(ctx context.Context, d time.Duration,
	answers bool) (end func(context.Context) error, err error) {
	err = o.Reach(ctx, "run a script on", func(ctx context.Context, addr string) error {
		end, err = Occupy(ctx, addr, d, answers)
		return err
	})
	return end, err
}

// Info reads fields of INFO.
func (o Operator) Info(ctx context.Context) (info map[string]string, err error) {
	err = o.Reach(ctx, "read INFO of", func(ctx context.Context, addr string) error {
		info, err = Information(ctx, addr)
		return err
	})
	return info, err
}

// Promote is REPLICAOF NO ONE. It returns once the server says that it is a
// master.
func (o Operator) Promote(ctx context.Context) error { return o.Reach(ctx, "promote", Promote) }
