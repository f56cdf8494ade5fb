package redlock

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// traveller is a line to one server, whose connections are told apart.
type traveller struct {
	*line
	link *link
}

// onLine tests a line on one server in virtual time; every goroutine has to end
// with it.
func onLine(t *testing.T, test func(*testing.T, *traveller)) {
	t.Helper()
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		u := c.userWith(1, c.servers, func(o *redis.Options) { o.ContextTimeoutEnabled = true })
		u.callers.Store(2) // nobody is alone, unless a test says so
		test(t, &traveller{u.nodes[0].line, u.links[0]})
	})
}

// send sends a command and tells its reply and error.
func (tr *traveller) send(t *testing.T, limit time.Duration, words ...any) (any, error) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := redis.NewCmd(ctx, words...)
	tr.process(ctx, cmd)
	return cmd.Result()
}

// queue is who waits.
func (tr *traveller) queue() []*queued {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.waiting
}

// writes counts how often something is written, handshakes excepted.
func (tr *traveller) writes() *atomic.Int32 {
	var n atomic.Int32
	tr.link.onCommand(func(command string) error {
		if command != "hello" && command != "client" {
			n.Add(1)
		}
		return nil
	})
	return &n
}

// One caller does not wait for what it has left behind, but does not pile up
// connections to a server that hangs either.
func TestLineOfOneCallerGoesBesideOneExchange(t *testing.T) {
	onLine(t, func(t *testing.T, tr *traveller) {
		tr.callers.Store(1)
		began := time.Now()
		tr.link.onReply(slow("get", time.Second))
		for range 2 {
			go func() { _, _ = tr.send(t, time.Minute, "get", "left behind") }()
			synctest.Wait()
			require.Empty(t, tr.queue())
		}
		go func() { _, _ = tr.send(t, time.Minute, "set", "k", 1) }()
		synctest.Wait()
		require.Len(t, tr.queue(), 1)
		require.Zero(t, time.Since(began))
		time.Sleep(time.Minute)
	})
}

func TestLineAloneGoesAtOnce(t *testing.T) {
	onLine(t, func(t *testing.T, tr *traveller) {
		n := tr.writes()
		for i := range 3 {
			_, err := tr.send(t, time.Second, "set", "k", i)
			require.NoError(t, err)
		}
		require.EqualValues(t, 3, n.Load())
		require.Zero(t, tr.underway)
		require.Nil(t, tr.overdue, "nobody waited")
	})
}

// What comes while an exchange is under way goes together when it ends.
func TestLineUnderLoadSharesAPipeline(t *testing.T) {
	onLine(t, func(t *testing.T, tr *traveller) {
		n := tr.writes()
		tr.link.onReply(slow("set", tr.wait/2))
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				time.Sleep(time.Duration(i)) // one after another
				reply, err := tr.send(t, time.Second, "set", fmt.Sprint("k", i), i, "get")
				require.ErrorIs(t, err, redis.Nil)
				require.Nil(t, reply)
			})
		}
		all.Wait()
		require.EqualValues(t, 2, n.Load(), "the first, and all others")
		require.Zero(t, tr.underway)
	})
}

// A node that does not answer holds up later commands for one wait at first, and
// for twice as long after each; one that answers some, for one wait for each
// exchange that hangs.
func TestLineGoesBesideAnExchangeThatHangs(t *testing.T) {
	onLine(t, func(t *testing.T, tr *traveller) {
		tr.link.onReply(slow("set", time.Hour))
		began, w := time.Now(), tr.wait
		var went []time.Duration
		var mu sync.Mutex
		tr.link.onCommand(func(command string) error {
			mu.Lock()
			defer mu.Unlock()
			if command == "set" {
				went = append(went, time.Since(began))
			}
			return nil
		})
		for range 4 {
			go func() { _, _ = tr.send(t, time.Minute, "set", "k", 1) }()
			time.Sleep(10 * w)
		}
		synctest.Wait()
		require.Equal(t, []time.Duration{0, 11 * w, 22 * w, 34 * w}, went)
		for _, later := range []time.Duration{8 * w, 4 * w} {
			asked := time.Now()
			reply, err := tr.send(t, time.Second, "ping")
			require.NoError(t, err)
			require.Equal(t, "PONG", reply)
			require.Equal(t, later, time.Since(asked))
		}
		time.Sleep(2 * time.Hour)
		tr.mu.Lock()
		defer tr.mu.Unlock()
		require.Zero(t, tr.underway)
	})
}

// A node that answers nothing at all gets a handful of connections in a lease's
// time, however many ask.
func TestASilentNodeIsNotFloodedWithConnections(t *testing.T) {
	onLine(t, func(t *testing.T, tr *traveller) {
		tr.link.onReply(slow("set", time.Hour))
		n := tr.writes()
		for range 1000 {
			go func() { _, _ = tr.send(t, time.Second, "set", "k", 1) }()
			time.Sleep(tr.wait)
		}
		require.EqualValues(t, 10, n.Load())
		time.Sleep(2 * time.Hour)
	})
}

// A connection that breaks fails those who were on it and nobody else.
func TestLineSurvivesABrokenConnection(t *testing.T) {
	onLine(t, func(t *testing.T, tr *traveller) {
		tr.link.onReply(slow("get", tr.wait/2))
		go func() { _, _ = tr.send(t, time.Second, "get", "first") }()
		synctest.Wait()
		tr.link.onReply(breaking("set"))
		var failures atomic.Int32
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				if _, err := tr.send(t, time.Second, "set", i, i); err != nil {
					failures.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 3, failures.Load())
		tr.link.onReply(nil)
		_, err := tr.send(t, time.Second, "set", "k", 1)
		require.NoError(t, err)
		require.Zero(t, tr.underway)
	})
}

// A deadline that is sooner than the others' must not cut their exchange short.
func TestLineLastsAsLongAsTheMostPatient(t *testing.T) {
	onLine(t, func(t *testing.T, tr *traveller) {
		tr.link.onReply(slow("get", tr.wait/2))
		go func() { _, _ = tr.send(t, time.Second, "get", "first") }()
		synctest.Wait()
		tr.link.onCommand(slow("set", 300*time.Millisecond))
		var all sync.WaitGroup
		for i, limit := range []time.Duration{10 * time.Millisecond, time.Second} {
			all.Go(func() {
				time.Sleep(time.Duration(i)) // the impatient one carries it out
				_, err := tr.send(t, limit, "set", i, i)
				require.NoError(t, err, limit)
			})
		}
		all.Wait()
	})
}

// A refusal is the refused command's alone.
func TestLineKeepsErrorsApart(t *testing.T) {
	onLine(t, func(t *testing.T, tr *traveller) {
		tr.link.onReply(slow("get", tr.wait/2))
		go func() { _, _ = tr.send(t, time.Second, "get", "first") }()
		synctest.Wait()
		var all sync.WaitGroup
		for _, known := range []bool{true, false, true} {
			all.Go(func() {
				if known {
					_, err := tr.send(t, time.Second, "set", "k", 1)
					require.NoError(t, err)
					return
				}
				_, err := tr.send(t, time.Second, "evalsha", strings.Repeat("0", 40), 0)
				require.ErrorContains(t, err, "NOSCRIPT")
			})
		}
		all.Wait()
	})
}

// Whatever shares a pipeline, each caller gets the reply to its own command, and
// one caller's commands are carried out in their order.
func TestLineGivesEachItsOwnReply(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		callers := rapid.IntRange(1, 12).Draw(rt, "callers")
		pauses := rapid.SliceOfN(rapid.Int64Range(0, 3e6), callers, callers).Draw(rt, "pauses")
		delay := rapid.Int64Range(0, 3e6).Draw(rt, "delay of replies")
		onLine(t, func(t *testing.T, tr *traveller) {
			tr.link.onReply(slow("incr", time.Duration(delay)))
			var all sync.WaitGroup
			for i := range callers {
				all.Go(func() {
					for n := range 5 {
						reply, err := tr.send(t, time.Minute, "incr", fmt.Sprint("k", i))
						require.NoError(t, err)
						require.EqualValues(t, n+1, reply)
						time.Sleep(time.Duration(pauses[i]))
					}
				})
			}
			all.Wait()
			require.Zero(t, tr.underway)
			require.Empty(t, tr.waiting)
		})
	})
}

// Many callers of one lock, some of whom give up: nobody else is harmed, nothing
// is left behind.
func TestThoseWhoGiveUpHarmNobodyOnTheLine(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		// Of each exchange, and not of each reply: forty may share one.
		u.each(func(l *link) { l.onCommand(slow("set", 5*time.Millisecond)) })
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i%4 == 0 {
					time.AfterFunc(time.Duration(i)*100*time.Microsecond, cancel)
				}
				l, err := u.TryAcquire(ctx, fmt.Sprint("k", i), ttl)
				if i%4 == 0 && err != nil {
					require.ErrorIs(t, err, context.Canceled)
					return
				}
				require.NoError(t, err)
				require.NoError(t, l.Release(t.Context()))
			})
		}
		all.Wait()
		require.NoError(t, u.Close())
		for _, s := range c.servers {
			require.Empty(t, s.Keys())
		}
	})
}

// Without a wait, no two commands share anything.
func TestBatchingCanBeSwitchedOff(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		u := c.user(1, WithBatchWait(0))
		u.warmUp(t)
		var n atomic.Int32
		u.links[0].onCommand(func(command string) error {
			if command == "set" {
				n.Add(1)
			}
			return nil
		})
		u.links[0].onReply(slow("set", time.Millisecond))
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				_, err := u.TryAcquire(t.Context(), fmt.Sprint("k", i), ttl)
				require.NoError(t, err)
			})
		}
		all.Wait()
		require.EqualValues(t, 8, n.Load())
	})
}
