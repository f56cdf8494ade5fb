package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/locks"
)

// gate is a go-redis hook for virtual time. A client's commands to one server enter the library one at a time, sorted
// by their words; unanswered ones leave it in the same order. The scheduler ends each command's context separately.
// Without a gate the runtime would decide which command gets the pool's idle connection, and which timeout fires
// first.
//
// The gate replaces the library's own timers: commands wait for a connection here, and are resent from here.
type gate struct {
	scheduler   *scheduler.Scheduler
	client      int // index among the run's clients
	server      int // index among the client's servers
	resends     int
	backoff     func(attempt int) time.Duration
	poolTimeout time.Duration
	connections int // bounds the active commands

	mu      sync.Mutex
	active  int
	waiting []chan struct{}
}

var _ redis.Hook = (*gate)(nil)

// Steps of commands at a gate at one instant, in this order.
const (
	gateLeave = iota // without a reply
	gateTimeout
	gateEnd // of a context
	gateFree
	gateEnter
)

func (g *gate) key(what int, words fmt.Stringer) scheduler.Key {
	return scheduler.Key{Class: scheduler.Turn, A: g.client, B: g.server, C: what, Words: words}
}

// DialHook changes nothing.
func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook sends a command in its turn.
func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if ctx.Value(passing{}) != nil {
			return next(ctx, cmd)
		}
		err := g.process(ctx, words{cmd}, func(ctx context.Context) error { return next(ctx, cmd) })
		cmd.SetErr(err)
		return err
	}
}

// ProcessPipelineHook sends a pipeline in its turn.
func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if ctx.Value(passing{}) != nil {
			return next(ctx, cmds)
		}
		sent := false
		err := g.process(ctx, words(cmds), func(ctx context.Context) error {
			sent = true
			return next(ctx, cmds)
		})
		if !sent {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
		}
		return err
	}
}

// words are the words of commands, without their replies.
type words []redis.Cmder

func (w words) String() string {
	var text strings.Builder
	for _, cmd := range w {
		fmt.Fprintln(&text, cmd.Args()...)
	}
	return text.String()
}

// passing marks the context of a command that has entered, so that go-redis's HELLO and AUTH on a new connection pass
// with it.
type passing struct{}

func (g *gate) process(ctx context.Context, words fmt.Stringer, send func(context.Context) error) error {
	for attempt := 0; ; attempt++ {
		err := g.attempt(ctx, words, send)
		if attempt == g.resends || !resendable(err) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if g.scheduler.Sleep(ctx, g.key(gateTimeout, words), g.backoff(attempt)) != nil {
			return ctx.Err()
		}
	}
}

func (g *gate) attempt(ctx context.Context, words fmt.Stringer, send func(context.Context) error) error {
	if err := g.enter(ctx, words); err != nil {
		return err
	}
	own, end := g.scheduler.Own(context.WithValue(ctx, passing{}, true), g.key(gateEnd, words))
	err := send(own)
	end()
	g.exit()
	if err == nil || err == redis.Nil { // the common case
		return err
	}
	if answer := redis.Error(nil); !errors.As(err, &answer) {
		g.turn(gateLeave, words, func() {})
	}
	return err
}

// turn executes a step of the command in a scheduler event, and waits for it.
func (g *gate) turn(what int, words fmt.Stringer, step func()) {
	done := make(chan struct{})
	g.scheduler.After(0, g.key(what, words), func() {
		step()
		close(done)
	})
	<-done
}

// enter waits for the command's turn and for a free connection.
func (g *gate) enter(ctx context.Context, words fmt.Stringer) error {
	var free chan struct{}
	g.turn(gateEnter, words, func() { free = g.take() })
	if free == nil {
		return nil
	}
	return g.awaitConnection(ctx, words, free)
}

// take takes a connection. If none is free, it returns the channel that free closes.
func (g *gate) take() chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.active < g.connections {
		g.active++
		return nil
	}
	free := make(chan struct{})
	g.waiting = append(g.waiting, free)
	return free
}

func (g *gate) awaitConnection(ctx context.Context, words fmt.Stringer, free chan struct{}) error {
	late := make(chan struct{})
	timeout := g.scheduler.After(g.poolTimeout, g.key(gateTimeout, words), func() { close(late) })
	defer timeout.Stop()
	own, end := g.scheduler.Own(ctx, g.key(gateEnd, words))
	defer end()
	err := redis.ErrPoolTimeout
	select {
	case <-free:
		return nil
	case <-own.Done():
		err = ctx.Err()
	case <-late:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(other chan struct{}) bool { return other == free })
	return err
}

// exit passes the connection to the command that has waited longest.
func (g *gate) exit() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.active--
		return
	}
	g.scheduler.After(0, g.key(gateFree, nil), g.free)
}

// free passes a free connection to the next waiting command.
func (g *gate) free() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 { // the waiting command has timed out
		g.active--
		return
	}
	close(g.waiting[0])
	g.waiting = g.waiting[1:]
}

// resendable reports whether go-redis would resend a command after this error: the connection ended or timed out, or
// the server is not ready.
func resendable(err error) bool {
	dial := (*net.OpError)(nil)
	timeout := net.Error(nil)
	switch {
	case err == nil:
		return false
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &dial) && dial.Op == "dial":
		return true
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	case errors.Is(err, redis.ErrPoolTimeout), errors.As(err, &timeout):
		return true
	}
	return slices.ContainsFunc(serverNotReady, func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) })
}

// serverNotReady lists the prefixes of server errors after which go-redis resends a command.
var serverNotReady = []string{
	"max number of clients reached", "LOADING ", "READONLY ", "CLUSTERDOWN ", "TRYAGAIN ", "MASTERDOWN ", "NOREPLICAS ",
}

// node makes a Redis client to one server with the harness's options. An abandoned dial occupies a connection of
// go-redis's pool, and a full pool uses timers that bubbles must not share: so the pool has more connections than the
// gate admits commands.
func (c *Client) node(addr string, server int, options locks.Options) *redis.Client {
	o := c.net.options(options.TTL, server, nil, addr).Simple()
	o.MaxRetries, o.PoolSize = cmp.Or(options.Resends, -1), cmp.Or(options.Pool, o.PoolSize)
	// go-redis draws the time before it resends from a source without a seed.
	o.MinRetryBackoff, o.MaxRetryBackoff = -1, -1
	return c.open(o, server, poolSize(options.TTL))
}

// open makes a Redis client. In virtual time it has a gate, which replaces its timers according to its options.
func (c *Client) open(options *redis.Options, server, spare int) *redis.Client {
	if !c.scheduler.Virtual() {
		return redis.NewClient(options)
	}
	g := &gate{
		scheduler: c.scheduler, client: c.setup.Index, server: server, resends: orDefault(options.MaxRetries, 3),
		connections: cmp.Or(options.PoolSize, 10*runtime.GOMAXPROCS(0)),
		poolTimeout: cmp.Or(options.PoolTimeout, poolTimeout(orDefault(options.ReadTimeout, 3*time.Second))),
	}
	least, most := orDefault(options.MinRetryBackoff, 8*time.Millisecond),
		orDefault(options.MaxRetryBackoff, 512*time.Millisecond)
	draw := rand.New(rand.NewPCG(c.setup.Seed, uint64(c.setup.Index)<<32|uint64(server)))
	g.backoff = func(attempt int) time.Duration { return retryBackoff(draw, attempt+1, least, most) }
	options.MaxRetries, options.PoolSize = -1, g.connections+spare
	made := redis.NewClient(options)
	made.AddHook(g)
	return made
}

// orDefault interprets an option as go-redis does: 0 is the default, and -1 means 0.
func orDefault[T int | time.Duration](value, standard T) T {
	if value == 0 {
		return standard
	}
	return max(value, 0)
}

// retryBackoff is go-redis's backoff, with a seeded source.
func retryBackoff(draw *rand.Rand, attempt int, least, most time.Duration) time.Duration {
	if least == 0 {
		return 0
	}
	longest := min(least<<min(attempt, 32), most)
	return min(least+time.Duration(draw.Int64N(int64(longest))), most)
}

// poolTimeout bounds the wait for a connection, as go-redis does.
func poolTimeout(readTimeout time.Duration) time.Duration { return readTimeout + time.Second }
