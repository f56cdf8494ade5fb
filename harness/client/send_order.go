package client

import (
	"cmp"
	"context"
	"errors"
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
// before: if all are down, it is settled whose failure is noticed first. So it is where
// one deadline, or one end of a context, cuts short what several were asked.
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
	commands []*sending
	first    int64 // when the first of them goes
	ordered  bool
}

// sending is a command, or a pipeline of them, that waits for its instant.
type sending struct {
	cmds  []redis.Cmder
	words string // once they are needed
}

// DialHook leaves dialling as it is.
func (o *sendOrder) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook makes a command wait for its instant.
func (o *sendOrder) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		o.wait(&sending{cmds: []redis.Cmder{cmd}})
		return o.came(next(ctx, cmd))
	}
}

// ProcessPipelineHook makes a pipeline wait for its instant.
func (o *sendOrder) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		o.wait(&sending{cmds: cmds})
		return o.came(next(ctx, cmds))
	}
}

// came passes on what became of a command, an error that no server sent a little later:
// a deadline ends what several servers were asked at one instant.
func (o *sendOrder) came(err error) error {
	if err == nil || err == redis.Nil { // what most commands come to
		return err
	}
	if said := redis.Error(nil); !errors.As(err, &said) {
		time.Sleep(time.Duration(o.later()))
	}
	return err
}

// wait waits for an instant at which every command of the present one has joined, and
// then for the command's own.
func (o *sendOrder) wait(s *sending) {
	b := o.join(s)
	time.Sleep(time.Duration(b.at + o.later() - o.now()))
	time.Sleep(time.Duration(o.instant(b, s) - o.now()))
}

// later is by how much what is sent to the server at one instant is later than that.
func (o *sendOrder) later() int64 { return 1 + int64(apart*o.server) }

// join adds a command to the present instant's.
func (o *sendOrder) join(s *sending) *burst {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := o.now(); o.latest == nil || o.latest.at != now {
		o.latest = &burst{at: now}
	}
	o.latest.commands = append(o.latest.commands, s)
	return o.latest
}

// instant gives the instant at which a command goes.
func (o *sendOrder) instant(b *burst, s *sending) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !b.ordered {
		b.ordered = true
		b.order()
		b.first = max(b.at+o.later(), o.next)
		o.next = b.first + int64(len(b.commands))
	}
	return b.first + int64(slices.IndexFunc(b.commands, func(other *sending) bool { return other.words == s.words }))
}

// order puts the commands into the order of their words: most often there is but one,
// which needs none.
func (b *burst) order() {
	if len(b.commands) == 1 {
		return
	}
	for _, s := range b.commands {
		for _, cmd := range s.cmds {
			s.words += cmd.String() + "\n"
		}
	}
	slices.SortFunc(b.commands, func(x, y *sending) int { return cmp.Compare(x.words, y.words) })
}
