package redlock

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// client is a client that nobody is going to use.
func client(addr string, db int) redis.UniversalClient {
	return redis.NewClient(&redis.Options{Addr: addr, DB: db})
}

func TestNewRefuses(t *testing.T) {
	a, b := client("a:1", 0), client("b:1", 0)
	var none *redis.Client
	for name, tc := range map[string]struct {
		nodes []redis.UniversalClient
		opt   Option
		says  string
	}{
		"no nodes":         {nil, nil, "no nodes"},
		"nil client":       {[]redis.UniversalClient{a, nil}, nil, "node 1 is nil"},
		"typed nil":        {[]redis.UniversalClient{none}, nil, "node 0 is nil"},
		"same client":      {[]redis.UniversalClient{a, b, a}, nil, "nodes 0 (a:1) and 2 (a:1) are the same client"},
		"same address":     {[]redis.UniversalClient{a, client("a:1", 0)}, nil, "same address and database 0"},
		"zero timeout":     {[]redis.UniversalClient{a}, WithNodeTimeout(0), "WithNodeTimeout: 0s must be positive"},
		"drift of 1":       {[]redis.UniversalClient{a}, WithDrift(1), "WithDrift: 1 must be"},
		"negative tries":   {[]redis.UniversalClient{a}, WithTries(-1), "WithTries: -1"},
		"negative wait":    {[]redis.UniversalClient{a}, WithBatchWait(-1), "WithBatchWait: -1ns"},
		"upside-down":      {[]redis.UniversalClient{a}, WithRetryDelay(2, 1), "WithRetryDelay: 2ns to 1ns is no range"},
		"no extensions":    {[]redis.UniversalClient{a}, WithMaxExtensions(0), "WithMaxExtensions: 0"},
		"nil clock":        {[]redis.UniversalClient{a}, WithClock(nil), "WithClock"},
		"nil reader":       {[]redis.UniversalClient{a}, WithRand(nil), "WithRand"},
		"a rule's typo":    {[]redis.UniversalClient{a}, Without("Majorty"), `no rule named "Majorty"`},
		"a rule that's ''": {[]redis.UniversalClient{a}, Without(""), "no rule named"},
	} {
		t.Run(name, func(t *testing.T) {
			opts := []Option{tc.opt}
			if tc.opt == nil {
				opts = nil
			}
			_, err := New(tc.nodes, opts...)
			require.ErrorContains(t, err, tc.says)
		})
	}
	_, err := New([]redis.UniversalClient{a}, nil)
	require.ErrorContains(t, err, "an option is nil")
}

func TestNewTellsDuplicates(t *testing.T) {
	a := client("a:1", 0)
	_, err := New([]redis.UniversalClient{a, a})
	require.ErrorIs(t, err, ErrDuplicateNode)

	_, err = New([]redis.UniversalClient{a, a}, Without(DistinctNodes))
	require.NoError(t, err)
	_, err = New([]redis.UniversalClient{a, client("a:1", 1)})
	require.NoError(t, err, "two databases of one server are caught by its run id")
	failover := func() redis.UniversalClient {
		return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"s:1"}})
	}
	_, err = New([]redis.UniversalClient{failover(), failover()})
	require.NoError(t, err, "clients behind Sentinel do not tell an address")
}

func TestQuorum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 99).Draw(t, "n")
		q := quorum(n, true)
		require.Greater(t, 2*q, n, "two majorities share a node")
		require.LessOrEqual(t, 2*(q-1), n, "no more than needed")
		half := quorum(n, false)
		require.GreaterOrEqual(t, half, 1)
		require.True(t, half == 1 || 2*half <= n)
	})
}

func TestRetryDelayStaysInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "min"))
		high := low + time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "width"))
		drawn := rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "random")
		r := &Redlock{options: defaults()}
		require.NoError(t, WithRetryDelay(low, high)(&r.options))
		require.NoError(t, WithRand(strings.NewReader(string(drawn)))(&r.options))
		d, err := r.retryDelay()
		require.NoError(t, err)
		require.True(t, low <= d && d <= high, "%s is not in %s to %s", d, low, high)

		r.off[RetryJitter] = true // and the reader is used up
		d, err = r.retryDelay()
		require.NoError(t, err)
		require.Equal(t, low+(high-low)/2, d)
	})
}

func TestNodeTimeoutFollowsTheTTL(t *testing.T) {
	o := defaults()
	for ttl, want := range map[time.Duration]time.Duration{
		10 * time.Millisecond:  time.Millisecond,
		200 * time.Millisecond: 10 * time.Millisecond,
		time.Second:            50 * time.Millisecond,
		time.Hour:              50 * time.Millisecond,
	} {
		require.Equal(t, want, o.timeoutAt(ttl), ttl)
	}
}

func TestSystemClockGoesOn(t *testing.T) {
	c := SystemClock()
	began := c.Now()
	timer := c.NewTimer(2 * time.Millisecond)
	<-timer.C()
	require.GreaterOrEqual(t, c.Now()-began, 2*time.Millisecond)
	require.False(t, timer.Stop())
	require.WithinDuration(t, time.Now(), c.Wall(), time.Second)
	require.Positive(t, sinceStart())
}

func TestRandomSourceThatFails(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		u := c.user(1, WithRand(strings.NewReader("too few bytes")))
		_, err := u.TryAcquire(t.Context(), key, ttl)
		require.ErrorContains(t, err, "drawing a token")

		u = c.user(1, WithRand(strings.NewReader("just enough for one")), Without(RetryJitter))
		_, err = u.TryAcquire(t.Context(), key, ttl)
		require.ErrorContains(t, err, "drawing a token", "19 bytes are not 20")

		c.occupy("another", 1)
		u = c.user(1, WithRand(strings.NewReader("just enough for 1 go")))
		_, err = u.Acquire(t.Context(), key, ttl)
		require.ErrorContains(t, err, "drawing a retry delay")
	})
}

func TestCloseEndsEverythingAndRefusesMore(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		l := u.must(t)
		ctx := l.Watch(t.Context())
		waiting := make(chan error)
		go func() {
			_, err := u.Acquire(t.Context(), key, ttl)
			waiting <- err
		}()
		time.Sleep(10 * time.Millisecond)
		closed := make(chan error)
		go func() { closed <- u.Close() }()
		require.ErrorIs(t, <-waiting, ErrClosed)
		require.NoError(t, <-closed)
		require.NoError(t, u.Close(), "a second Close")

		require.ErrorIs(t, context.Cause(ctx), ErrClosed)
		require.ErrorIs(t, context.Cause(l.Watch(t.Context())), ErrClosed)
		require.ErrorIs(t, l.Extend(t.Context()), ErrClosed)
		require.ErrorIs(t, l.Release(t.Context()), ErrClosed)
		_, err := u.TryAcquire(t.Context(), key, ttl)
		require.ErrorIs(t, err, ErrClosed)
		require.Equal(t, l.Token(), c.owners()[0], "leases are not released by Close")
	})
}

func TestCloseWaitsForStragglersAndTheirRelease(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		u.each(func(l *link) { l.onCommand(slow("set", 500*time.Millisecond)) }, 4, 5)
		began := time.Now()
		require.NoError(t, u.must(t).Release(t.Context()))
		require.Zero(t, time.Since(began), "neither acquire nor release waits for the slow nodes")
		require.NoError(t, u.Close())
		require.Equal(t, 500*time.Millisecond, time.Since(began))
		require.Equal(t, make([]string, 5), c.owners())
	})
}

// A release gives its own SET a moment, so that a node which is a little slower
// than the majority is released once and not twice.
func TestANodeThatIsALittleSlowerIsReleasedOnce(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		u.warmUp(t)
		late := slow("set", DefaultBatchWait/2)
		var releases atomic.Int32
		u.each(func(l *link) {
			l.onCommand(func(command string) error {
				if strings.HasPrefix(command, "eval") {
					releases.Add(1)
				}
				return late(command)
			})
		}, 4, 5)
		require.NoError(t, u.must(t).Release(t.Context()))
		require.NoError(t, u.Close())
		require.Equal(t, int32(2), releases.Load(), "one for each of the slower nodes")
		require.Equal(t, make([]string, 5), c.owners())
	})
}

// The longest chain that one node can make, with a client that ends calls with
// their contexts: a SET, the release that follows it, and the last try of that.
func TestCloseWaitsForAChainOfCallsThatHang(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.userWith(1, c.servers, func(o *redis.Options) { o.ContextTimeoutEnabled = true })
		u.warmUp(t)
		u.each((*link).hang, 5)
		began := time.Now()
		require.NoError(t, u.must(t).Release(t.Context()))
		require.NoError(t, u.Close())
		took := time.Since(began)
		require.Greater(t, took, 3*ttl, "the calls are carried out one after another")
		require.Less(t, took, 3*ttl+time.Second)
	})
}

func TestCloseDoesNotWaitForEver(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		u.each(func(l *link) { l.onCommand(slow("set", time.Minute)) }, 5)
		u.must(t)
		began := time.Now()
		require.ErrorContains(t, u.Close(), "calls to nodes are still under way after 4s")
		require.Equal(t, 3*ttl+time.Second, time.Since(began))
		time.Sleep(time.Minute)
	})
}

// With one clock, one random source and one caller, a run is the same each time.
func TestSameSeedSameRun(t *testing.T) {
	run := func(seed uint64) (trace []string) {
		inBubble(t, 5, func(t *testing.T, c *cluster) {
			u := c.user(seed)
			began := time.Now()
			c.occupy("another", 1, 2, 3)
			go func() { time.Sleep(time.Second); c.free(1, 2, 3) }()
			for range 3 {
				l, err := u.Acquire(t.Context(), key, ttl)
				require.NoError(t, err)
				trace = append(trace, time.Since(began).String(), l.Token(), l.Validity().String())
				require.NoError(t, l.Release(t.Context()))
				synctest.Wait()
			}
		})
		return trace
	}
	require.Equal(t, run(1), run(1))
	require.NotEqual(t, run(1), run(2))
}

func TestAttemptErrorUnwraps(t *testing.T) {
	cause := errors.New("connection refused")
	err := error(&AttemptError{
		Op: "acquire", Key: "k", Need: 3, Got: 1, Tries: 7, Reason: ErrNoMajority, Ended: context.Canceled,
		Nodes: []NodeError{{Node: 2, Addr: "n3:6379", Err: cause}, {Node: 4, Err: heldBy{"0123456789abcdef"}}},
	})
	for _, target := range []error{ErrNoMajority, context.Canceled, cause} {
		require.ErrorIs(t, err, target)
	}
	require.NotErrorIs(t, err, ErrHeld)
	require.EqualError(t, err, `redlock: acquire "k": no majority of the nodes answered; 1 of 3 needed nodes said yes at the last of 7 attempts; `+
		`node 2 (n3:6379): connection refused; node 4: held by token "0123456789ab"...; cut short: context canceled`)
}

// A node's own timeout must not pass for the caller's.
func TestNodeTimeoutsAreNotTheCallers(t *testing.T) {
	err := nodeCause(context.DeadlineExceeded)
	require.ErrorIs(t, err, ErrNodeTimeout)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
}
