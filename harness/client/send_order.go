package client

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// sendOrder is a go-redis hook for virtual time: commands that goroutines of a
// client send to one server at one instant go in the order of their words, a
// nanosecond apart. Without it the scheduler would decide which of them takes
// the pool's idle connection and which has to dial, say when a lock that closes
// tries its last releases all at once. Equal commands may go in any order. What is
// sent to several servers at one instant goes to each a little later than to the one
// before: if all are down, it is settled whose failure is noticed first.
type sendOrder struct {
	now    func() int64
	server int // its place among the client's servers

	mu     sync.Mutex
	latest *burst
	next   int64 // the first instant at which no command goes yet
}

var _ redis.Hook = (*sendOrder)(nil)

// apart is how much later each server is sent what goes at one instant: room for some
// commands, in nanoseconds.
const apart = 4

// burst is what is sent at one instant.
type burst struct {
	at       int64
	commands []string
	first    int64 // when the first of them goes
	ordered  bool
}

// DialHook leaves dialling as it is.
func (o *sendOrder) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook makes a command wait for its instant.
func (o *sendOrder) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		o.wait(cmd.String())
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook makes a pipeline wait for its instant.
func (o *sendOrder) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		var words string
		for _, cmd := range cmds {
			words += cmd.String() + "\n"
		}
		o.wait(words)
		return next(ctx, cmds)
	}
}

func (o *sendOrder) wait(words string) {
	b := o.join(words)
	time.Sleep(time.Nanosecond) // by then every command of this instant has joined
	time.Sleep(time.Duration(o.instant(b, words) - o.now()))
}

// join adds a command to the present instant's.
func (o *sendOrder) join(words string) *burst {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := o.now(); o.latest == nil || o.latest.at != now {
		o.latest = &burst{at: now}
	}
	o.latest.commands = append(o.latest.commands, words)
	return o.latest
}

// instant gives the instant at which a command goes.
func (o *sendOrder) instant(b *burst, words string) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !b.ordered {
		b.ordered = true
		slices.Sort(b.commands)
		b.first = max(b.at+1+int64(apart*o.server), o.next)
		o.next = b.first + int64(len(b.commands))
	}
	rank, _ := slices.BinarySearch(b.commands, words)
	return b.first + int64(rank)
}
