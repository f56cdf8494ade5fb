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

// gate is a go-redis hook for virtual time. Commands that a client sends to one server
// enter the library one at a time, in the order of their words, and those that nobody
// answered leave it so; each has a context that the scheduler ends for it alone. Without it
// the runtime would decide which of two commands takes the pool's idle connection, and whose
// timeout is noticed first.
//
// It does what the library would do with time and order of its own: commands wait for a
// connection here, and are sent again from here.
type gate struct {
	scheduler   *scheduler.Scheduler
	client      int // its place among the run's clients
	server      int // its place among the client's servers
	resends     int
	backoff     func(attempt int) time.Duration
	poolTimeout time.Duration
	connections int // commands that may be under way at once; 0: any number

	mu       sync.Mutex
	underway int
	waiting  []chan struct{}
}

var _ redis.Hook = (*gate)(nil)

// What commands do at a gate at one instant, in this order.
const (
	gateLeave = iota // without an answer
	gateTimeout
	gateEnd // of a context
	gateFree
	gateEnter
)

func (g *gate) key(what int, words fmt.Stringer) scheduler.Key {
	return scheduler.Key{Class: scheduler.Turn, A: g.client, B: g.server, C: what, Words: words}
}

// DialHook leaves dialling as it is.
func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook lets a command pass in its turn.
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

// ProcessPipelineHook lets a pipeline pass in its turn.
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

// words are those of commands, without their replies.
type words []redis.Cmder

func (w words) String() string {
	var text strings.Builder
	for _, cmd := range w {
		fmt.Fprintln(&text, cmd.Args()...)
	}
	return text.String()
}

// passing is the key of a context whose command has entered: what go-redis says on a new
// connection before that command (HELLO, AUTH) is part of it.
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

// attempt sends a command once.
func (g *gate) attempt(ctx context.Context, words fmt.Stringer, send func(context.Context) error) error {
	if err := g.enter(ctx, words); err != nil {
		return err
	}
	own, end := g.scheduler.Own(context.WithValue(ctx, passing{}, true), g.key(gateEnd, words))
	err := send(own)
	end()
	g.exit()
	if err == nil || err == redis.Nil { // what most commands come to
		return err
	}
	if answer := redis.Error(nil); !errors.As(err, &answer) {
		g.turn(gateLeave, words)
	}
	return err
}

// turn waits for an event of the command's own.
func (g *gate) turn(what int, words fmt.Stringer) {
	come := make(chan struct{})
	g.scheduler.After(0, g.key(what, words), func() { close(come) })
	<-come
}

// enter waits for the command's turn, and for a connection if all are in use.
func (g *gate) enter(ctx context.Context, words fmt.Stringer) error {
	var free chan struct{}
	turn := make(chan struct{})
	g.scheduler.After(0, g.key(gateEnter, words), func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.underway < g.connections {
			g.underway++
		} else {
			free = make(chan struct{})
			g.waiting = append(g.waiting, free)
		}
		close(turn)
	})
	<-turn
	if free == nil {
		return nil
	}
	return g.awaitConnection(ctx, words, free)
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

// exit gives a connection to the command that has waited longest.
func (g *gate) exit() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.underway--
		return
	}
	g.scheduler.After(0, g.key(gateFree, nil), g.free)
}

// free hands on the connection of a command that has left.
func (g *gate) free() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 { // it waits no longer
		g.underway--
		return
	}
	close(g.waiting[0])
	g.waiting = g.waiting[1:]
}

// resendable reports whether go-redis would send a command again that ended so: the
// connection ended or timed out, or the server said that it cannot serve yet.
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

// serverNotReady begins the errors of a server after which go-redis sends a command again.
var serverNotReady = []string{
	"max number of clients reached", "LOADING ", "READONLY ", "CLUSTERDOWN ", "TRYAGAIN ", "MASTERDOWN ", "NOREPLICAS ",
}

// node makes a Redis client of the harness's options to one server. An abandoned dial keeps
// its connection of go-redis's pool, whose timers are shared with other bubbles: it has
// more connections than the gate lets commands in.
func (c *Client) node(addr string, server int, options locks.Options) *redis.Client {
	o := c.net.options(options.TTL, server, nil, addr).Simple()
	o.MaxRetries, o.PoolSize = cmp.Or(options.Resends, -1), cmp.Or(options.Pool, o.PoolSize)
	// go-redis draws the time before it resends from a source without a seed.
	o.MinRetryBackoff, o.MaxRetryBackoff = -1, -1
	return c.open(o, server, poolSize(options.TTL))
}

// open makes a Redis client. In virtual time it has a gate, which does in its place what it
// would do by timers of its own, as its options have it.
func (c *Client) open(options *redis.Options, server, spare int) *redis.Client {
	if !c.virtual {
		return redis.NewClient(options)
	}
	g := &gate{
		scheduler: c.scheduler, client: c.setup.Index, server: server, connections: options.PoolSize,
		resends: orDefault(options.MaxRetries, 3), poolTimeout: options.PoolTimeout,
	}
	least, most := orDefault(options.MinRetryBackoff, 8*time.Millisecond),
		orDefault(options.MaxRetryBackoff, 512*time.Millisecond)
	draw := rand.New(rand.NewPCG(c.setup.Seed, uint64(c.setup.Index)<<32|uint64(server)))
	g.backoff = func(attempt int) time.Duration { return retryBackoff(draw, attempt+1, least, most) }
	if g.connections == 0 {
		g.connections = 10 * runtime.GOMAXPROCS(0)
	}
	if g.poolTimeout == 0 {
		g.poolTimeout = poolTimeout(orDefault(options.ReadTimeout, 3*time.Second))
	}
	options.MaxRetries, options.PoolSize = -1, g.connections+spare
	made := redis.NewClient(options)
	made.AddHook(g)
	return made
}

// orDefault is how go-redis reads most of its options: 0 is the default, and -1 nothing.
func orDefault[T int | time.Duration](value, standard T) T {
	if value == 0 {
		return standard
	}
	return max(value, 0)
}

// retryBackoff is go-redis's, which grows with each attempt and draws from a source without
// a seed.
func retryBackoff(draw *rand.Rand, attempt int, least, most time.Duration) time.Duration {
	if least == 0 {
		return 0
	}
	longest := min(least<<min(attempt, 32), most)
	return min(least+time.Duration(draw.Int64N(int64(longest))), most)
}

// poolTimeout is for how long a command waits for a connection: go-redis's own.
func poolTimeout(readTimeout time.Duration) time.Duration { return readTimeout + time.Second }
