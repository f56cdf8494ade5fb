package redlock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// line is the way to one server that all callers of a lock share. A command
// that finds it idle goes at once, by itself. One that finds an exchange under
// way waits for its end and goes with all others that wait by then, in one
// pipeline: the busier the lock, the more commands share a write and a read.
//
// Who is alone has nobody to share with, and goes beside an exchange that an
// operation of its own has left behind; beside one, for more mean that the server
// is slow.
//
// An exchange that lasts must not hold up what comes later: those who wait go
// beside it, on another connection, after one wait for each exchange under way.
// So a server that is far away costs them milliseconds and not the whole of its
// delay. Where nothing is answered the wait doubles with each exchange: a server
// that is overwhelmed does not recover from those who try ever more connections.
// Nor is it sent ever more attempts to get the lock (see admit).
//
// The line has no goroutine of its own: one of those who wait carries out the
// exchange for all of them.
type line struct {
	client redis.UniversalClient
	wait   time.Duration // 0: every command goes by itself

	callers *atomic.Int32 // who wait for an operation of the lock

	mu       sync.Mutex
	underway int // exchanges
	silent   int // of these, and of those that failed: begun since the server answered last
	tries    int // to get the lock: admitted, and without an answer or an error yet
	waiting  []*queued
	overdue  *time.Timer // runs while some wait; made when first needed
}

// queued is a command that waits.
type queued struct {
	ctx   context.Context
	cmd   redis.Cmder
	ahead []redis.Cmder // what is to go right before it
	// batch hands over the exchange that its receiver is to carry out, its own
	// command first; it is closed once another has carried the command out.
	batch chan []*queued
}

// admit lets an attempt to get the lock ask this server, until finish; or refuses,
// because the server has answered nothing for long and has more attempts to answer
// than anybody waits for. Each holds a goroutine until its context ends, so where
// they follow each other within milliseconds there is no other bound. A release is
// never refused: there is one for each attempt that was admitted.
func (l *line) admit() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.silent >= hung && l.tries >= triesAtOnce*int(l.callers.Load()) {
		return false
	}
	l.tries++
	return true
}

// finish ends what admit began.
func (l *line) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tries--
}

const (
	// hung is from how many exchanges without an answer a server counts as hung:
	// with waits that double, the eighth begins after 127 of them at the earliest.
	hung = 8
	// triesAtOnce is how many attempts of each caller a hung server may have to
	// answer: the last, and some that were decided without it.
	triesAtOnce = 16
)

// process carries out a command, after those that are to go ahead of it in the same
// write, and leaves its reply, or the error, with each. The context must have a
// deadline, which bounds the call; but as the exchange is shared, neither a deadline
// that is sooner than others' nor an end for another reason cuts it short.
func (l *line) process(ctx context.Context, cmd redis.Cmder, ahead ...redis.Cmder) {
	p := l.enter(ctx, cmd, ahead)
	if p == nil {
		l.leave(l.carry(ctx, cmd, ahead))
		return
	}
	if together := <-p.batch; together != nil {
		l.leave(exchange(l.client, together))
	}
}

// carry carries out the commands of one who need not wait; they keep their errors,
// too.
func (l *line) carry(ctx context.Context, cmd redis.Cmder, ahead []redis.Cmder) error {
	if len(ahead) == 0 {
		return l.client.Process(ctx, cmd)
	}
	return exchange(l.client, []*queued{{ctx: ctx, cmd: cmd, ahead: ahead}})
}

// enter returns nil if the command may go at once, and its place otherwise.
func (l *line) enter(ctx context.Context, cmd redis.Cmder, ahead []redis.Cmder) *queued {
	l.mu.Lock()
	defer l.mu.Unlock()
	alone := l.callers.Load() < 2
	if l.underway == 0 || l.underway == 1 && alone || l.wait == 0 {
		l.begin()
		return nil
	}
	p := &queued{ctx, cmd, ahead, make(chan []*queued, 1)}
	l.waiting = append(l.waiting, p)
	if len(l.waiting) == 1 {
		l.bound(l.wait * time.Duration(max(l.underway, 1<<min(l.silent, doublings)>>1)))
	}
	return p
}

// doublings bounds the wait at a server that is silent: some 500 times the
// shortest.
const doublings = 10

// begin counts an exchange. l.mu is held.
func (l *line) begin() {
	l.underway++
	l.silent++
}

// bound lets those who wait go after d at the latest. l.mu is held.
func (l *line) bound(d time.Duration) {
	if l.overdue == nil {
		l.overdue = time.AfterFunc(d, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.sendWaiting()
		})
		return
	}
	l.overdue.Reset(d)
}

// leave ends an exchange, with the error of its first command.
func (l *line) leave(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.underway--
	if answered(err) {
		l.silent = 0
	}
	l.sendWaiting()
}

// answered tells a server's answer, which may be an error, from none.
func answered(err error) bool {
	var said redis.Error
	return err == nil || errors.As(err, &said)
}

// sendWaiting hands those who wait, if any, to the first of them as the next exchange.
// l.mu is held.
func (l *line) sendWaiting() {
	if len(l.waiting) == 0 {
		return
	}
	l.overdue.Stop()
	l.begin()
	l.waiting[0].batch <- l.waiting
	l.waiting = nil
}

// exchange carries out commands in their order, in one pipeline, and tells all
// but the first, whose goroutine this is and whose error it returns. It has until
// the last of their deadlines.
func exchange(client redis.UniversalClient, together []*queued) error {
	first := together[0]
	if len(together) == 1 && len(first.ahead) == 0 {
		return client.Process(first.ctx, first.cmd)
	}
	var latest time.Time
	pipe := client.Pipeline()
	for _, p := range together {
		if deadline, _ := p.ctx.Deadline(); deadline.After(latest) {
			latest = deadline
		}
		for _, cmd := range p.ahead {
			_ = pipe.Process(p.ctx, cmd) // queues it
		}
		_ = pipe.Process(p.ctx, p.cmd)
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(first.ctx), latest)
	defer cancel()
	_, _ = pipe.Exec(ctx) // each command keeps its own error
	for _, p := range together[1:] {
		close(p.batch)
	}
	return first.cmd.Err()
}
