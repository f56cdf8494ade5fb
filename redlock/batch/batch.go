package batch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/server"
)

// Wait is the shortest time that commands wait for a running exchange: long compared with a round trip in one data
// centre, short compared with the node timeout.
const Wait = time.Millisecond

const (
	// doublings bounds the wait for a silent server to some 500 times the shortest.
	doublings = 10
	// hung is the number of unanswered exchanges that make a server count as hung. Waits double, so the eighth exchange
	// begins after 127 waits at the earliest.
	hung = 8
	// attempts bounds the pending acquire attempts at a hung server.
	attempts = 32
)

// Pipelines is a decorator that batches commands.
func Pipelines(servers []*server.Server, _ []redlock.Node) error {
	for _, s := range servers {
		b := &batcher{send: s.Send}
		b.overdue = time.AfterFunc(math.MaxInt64, b.sendOverdue)
		b.overdue.Stop()
		s.Send = b.do
	}
	return nil
}

// batcher sends the commands for one server. It has no goroutine of its own: one of the waiting callers runs the
// exchange for all of them.
type batcher struct {
	send func(context.Context, ...redis.Cmder)

	mu       sync.Mutex
	underway int // exchanges
	silent   int // exchanges begun since the server's last reply
	pending  int // acquire attempts without a reply
	waiting  []*request
	overdue  *time.Timer // ends the wait of requests
}

type request struct {
	ctx      context.Context
	commands []redis.Cmder
	// batch receives the requests that the caller must send, its own first; it is closed once another caller has
	// sent this one.
	batch chan []*request
}

var errHung = fmt.Errorf("%w: the server has answered none of the attempts before", redlock.ErrNotSent)

// do sends one caller's commands. Callers share an exchange, so neither one caller's earlier deadline nor the end of
// its context cuts the exchange short.
func (b *batcher) do(ctx context.Context, commands ...redis.Cmder) {
	if isAcquire(commands) {
		if !b.admit() {
			for _, cmd := range commands {
				cmd.SetErr(errHung)
			}
			return
		}
		defer b.finish()
	}
	r := b.enter(ctx, commands)
	if r == nil {
		b.send(ctx, commands...)
		b.endExchange(commands)
	} else if together := <-r.batch; together != nil {
		b.exchange(together)
		b.endExchange(commands)
	}
}

// isAcquire reports whether commands end with a SET NX. A release is never refused.
func isAcquire(commands []redis.Cmder) bool {
	args := commands[len(commands)-1].Args()
	return len(args) > 3 && args[0] == "set" && args[3] == "nx"
}

func (b *batcher) admit() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.silent >= hung && b.pending >= attempts {
		return false
	}
	b.pending++
	return true
}

func (b *batcher) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pending--
}

// enter returns nil if the commands may be sent at once.
func (b *batcher) enter(ctx context.Context, commands []redis.Cmder) *request {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.underway == 0 {
		b.beginExchange()
		return nil
	}
	r := &request{ctx, commands, make(chan []*request, 1)}
	b.waiting = append(b.waiting, r)
	if len(b.waiting) == 1 {
		b.overdue.Reset(Wait * time.Duration(max(b.underway, 1<<min(b.silent, doublings)>>1)))
	}
	return r
}

// beginExchange counts an exchange. b.mu is held.
func (b *batcher) beginExchange() {
	b.underway++
	b.silent++
}

func (b *batcher) sendOverdue() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sendWaiting()
}

// endExchange ends an exchange whose first caller had these commands.
func (b *batcher) endExchange(commands []redis.Cmder) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.underway--
	var refused redis.Error // a reply, too
	if err := commands[len(commands)-1].Err(); err == nil || errors.As(err, &refused) {
		b.silent = 0
	}
	b.sendWaiting()
}

// sendWaiting makes the first waiting request send all of them as the next exchange. b.mu is held.
func (b *batcher) sendWaiting() {
	if len(b.waiting) == 0 {
		return
	}
	b.overdue.Stop()
	b.beginExchange()
	b.waiting[0].batch <- b.waiting
	b.waiting = nil
}

// exchange sends requests, the caller's own first, within the latest of their deadlines.
func (b *batcher) exchange(together []*request) {
	first := together[0]
	if len(together) == 1 {
		b.send(first.ctx, first.commands...)
		return
	}
	var latest time.Time
	all := make([]redis.Cmder, 0, len(together)+len(first.commands))
	for _, r := range together {
		deadline, ok := r.ctx.Deadline()
		if !ok {
			deadline = time.Now().Add(math.MaxInt64)
		}
		if deadline.After(latest) {
			latest = deadline
		}
		all = append(all, r.commands...)
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(first.ctx), latest)
	defer cancel()
	b.send(ctx, all...)
	for _, r := range together[1:] {
		close(r.batch)
	}
}
