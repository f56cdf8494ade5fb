package client

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// poolTimeout is for how long a command waits for a connection: go-redis's own.
func poolTimeout(readTimeout time.Duration) time.Duration { return readTimeout + time.Second }

// turns lets as many commands to a server go at once as its pool has connections, and
// the others wait for their turn as they would for a connection. In virtual time it
// stands before the pool: go-redis shares the timers of waiting commands among all its
// pools, which synctest bubbles may not share.
type turns struct {
	free    chan struct{}
	timeout time.Duration
}

func newTurns(connections int, timeout time.Duration) *turns {
	return &turns{make(chan struct{}, connections), timeout}
}

func (t *turns) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (t *turns) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := t.take(ctx, func(ctx context.Context) error { return next(ctx, cmd) })
		if cmd.Err() == nil {
			cmd.SetErr(err)
		}
		return err
	}
}

func (t *turns) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return t.take(ctx, func(ctx context.Context) error { return next(ctx, cmds) })
	}
}

// having is the key of a context whose command has its turn: what go-redis says on a new
// connection before that command (AUTH) is of the same turn.
type having struct{}

func (t *turns) take(ctx context.Context, do func(context.Context) error) error {
	if ctx.Value(having{}) != nil {
		return do(ctx)
	}
	select {
	case t.free <- struct{}{}: // at once
	default:
		late := time.NewTimer(t.timeout)
		defer late.Stop()
		select {
		case t.free <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return redis.ErrPoolTimeout
		}
	}
	defer func() { <-t.free }()
	return do(context.WithValue(ctx, having{}, true))
}
