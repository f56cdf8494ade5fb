package batch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/server"
)

// Wait is for how long commands wait to share a pipeline: long against a round trip in one data centre, short against
// the node timeout.
const Wait = time.Millisecond

const (
	// doublings bounds the wait for a server that is silent: some 500 times the shortest.
	doublings = 10
	// hung is from how many exchanges without an answer a server counts as hung: as waits double, the eighth begins after
	// 127 of them at the earliest.
	hung = 8
	// attempts is how many attempts to take a key a hung server may have to answer.
	attempts = 32
)

// Pipelines is a decorator.
func Pipelines(servers []*server.Server, _ []redlock.Node) error {
	for _, s := range servers {
		s.Send = (&batcher{send: s.Send}).do
	}
	return nil
}

// batcher is the way to one server. It has no goroutine of its own: one of those who wait carries out the exchange for
// all of them.
type batcher struct {
	send func(context.Context, ...redis.Cmder)

	mu       sync.Mutex
	underway int // exchanges
	silent   int // of these, and of those that failed: begun since the server answered last
	pending  int // attempts to take a key that have no answer
	waiting  []*request
	overdue  *time.Timer // runs while some wait; made when first needed
}

// request is the commands of one caller.
type request struct {
	ctx      context.Context
	commands []redis.Cmder
	// batch hands over the requests that the receiver must carry out, its own first; it is closed once another has
	// carried this one out.
	batch chan []*request
}

var errHung = fmt.Errorf("%w: the server has answered none of the attempts before", redlock.ErrNotSent)

// do carries out commands of one caller. As an exchange is shared, neither a deadline that is sooner than others' nor
// the end of a context for another reason cuts it short.
func (b *batcher) do(ctx context.Context, commands ...redis.Cmder) {
	if takes(commands) {
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
		b.leave(commands)
	} else if together := <-r.batch; together != nil {
		b.exchange(together)
		b.leave(commands)
	}
}

// takes reports whether commands end with an attempt to take a key. A release is never refused.
func takes(commands []redis.Cmder) bool {
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

// enter returns nil if the commands may go at once.
func (b *batcher) enter(ctx context.Context, commands []redis.Cmder) *request {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.underway == 0 {
		b.begin()
		return nil
	}
	r := &request{ctx, commands, make(chan []*request, 1)}
	b.waiting = append(b.waiting, r)
	if len(b.waiting) == 1 {
		b.limit(Wait * time.Duration(max(b.underway, 1<<min(b.silent, doublings)>>1)))
	}
	return r
}

// begin counts an exchange. b.mu is held.
func (b *batcher) begin() {
	b.underway++
	b.silent++
}

// limit lets those who wait go after d at the latest. b.mu is held.
func (b *batcher) limit(d time.Duration) {
	if b.overdue == nil {
		b.overdue = time.AfterFunc(d, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.sendWaiting()
		})
		return
	}
	b.overdue.Reset(d)
}

// leave ends an exchange, whose first caller had these commands.
func (b *batcher) leave(commands []redis.Cmder) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.underway--
	var refused redis.Error // an answer, too
	if err := commands[len(commands)-1].Err(); err == nil || errors.As(err, &refused) {
		b.silent = 0
	}
	b.sendWaiting()
}

// sendWaiting hands those who wait, if any, to the first of them as the next exchange. b.mu is held.
func (b *batcher) sendWaiting() {
	if len(b.waiting) == 0 {
		return
	}
	b.overdue.Stop()
	b.begin()
	b.waiting[0].batch <- b.waiting
	b.waiting = nil
}

// exchange carries out requests, the first of which is the caller's, until the last of their deadlines.
func (b *batcher) exchange(together []*request) {
	first := together[0]
	if len(together) == 1 {
		b.send(first.ctx, first.commands...)
		return
	}
	var latest time.Time
	all := make([]redis.Cmder, 0, len(together)+len(first.commands))
	for _, r := range together {
		if deadline, _ := r.ctx.Deadline(); deadline.After(latest) {
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
