package builtin

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// process sends a command to a node. Do, Get and Incr of go-redis would do, but through an
// interface they bring all that a client of a Redis Cluster needs for them into each
// program that has a lock, and the engine of the pages is to stay small.
func process[C redis.Cmder](ctx context.Context, node redis.UniversalClient, cmd C) C {
	_ = node.Process(ctx, cmd) // the command has the error
	return cmd
}
