package client

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// turns is a go-redis hook for virtual time: commands that goroutines of a
// client send to one server at one instant go in the order of their words, a
// nanosecond apart. Without it the scheduler would decide which of them takes
// the pool's idle connection and which has to dial, say when a lock that closes
// tries its last releases all at once. Equal commands may go in any order.
type turns struct {
	now func() int64

	mu     sync.Mutex
	latest *burst
	next   int64 // the first instant at which no command goes yet
}

var _ redis.Hook = (*turns)(nil)

// burst is what is sent at one instant.
type burst struct {
	at       int64
	commands []string
	first    int64 // when the first of them goes
	ordered  bool
}

// DialHook leaves dialling as it is.
func (t *turns) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook makes a command wait for its turn.
func (t *turns) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		t.wait(cmd.String())
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook makes a pipeline wait for its turn.
func (t *turns) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		var words string
		for _, cmd := range cmds {
			words += cmd.String() + "\n"
		}
		t.wait(words)
		return next(ctx, cmds)
	}
}

func (t *turns) wait(words string) {
	b := t.join(words)
	time.Sleep(time.Nanosecond) // by then every command of this instant has joined
	time.Sleep(time.Duration(t.turn(b, words) - t.now()))
}

// join adds a command to the present instant's.
func (t *turns) join(words string) *burst {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.now(); t.latest == nil || t.latest.at != now {
		t.latest = &burst{at: now}
	}
	t.latest.commands = append(t.latest.commands, words)
	return t.latest
}

// turn gives the instant at which a command goes.
func (t *turns) turn(b *burst, words string) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !b.ordered {
		b.ordered = true
		slices.Sort(b.commands)
		b.first = max(b.at+1, t.next)
		t.next = b.first + int64(len(b.commands))
	}
	rank, _ := slices.BinarySearch(b.commands, words)
	return b.first + int64(rank)
}
