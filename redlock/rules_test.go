package redlock

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
)

// harms shows, for each rule, what it prevents: on a cluster of five, harm
// reports whether the harm came about under the options it is given.
var harms = map[Rule]func(*testing.T, *cluster, ...Option) bool{
	ElapsedCheck:      slowReplies,
	DriftMargin:       fastServers,
	MonotonicClock:    wallClockSetBack,
	NodeTimeout:       hungNodes,
	ReleaseEverywhere: lostReplies,
	ReleaseAfterSet:   lateSet,
	FreshToken:        lateRelease,
	RetryJitter:       splitVotes,
	Majority:          twoHalves,
	DistinctNodes:     oneServerTwice,
	RestartGuard:      restartWithoutKeys,
	CompareAndDelete:  releaseOfAnothers,
	ExtendOwnership:   extensionOfAnothers,
	ExtendMajority:    extensionOfMinority,
	BoundedExtensions: endlessExtension,
}

func TestEveryRulePreventsItsHarm(t *testing.T) {
	for _, info := range Rules() {
		t.Run(string(info.Rule), func(t *testing.T) {
			harm := harms[info.Rule]
			require.NotNil(t, harm, "no test shows what this rule is for")
			inBubble(t, 5, func(t *testing.T, c *cluster) {
				require.False(t, harm(t, c), "harm came about with the rule on")
			})
			inBubble(t, 5, func(t *testing.T, c *cluster) {
				require.True(t, harm(t, c, Without(info.Rule)), "no harm without the rule")
			})
		})
	}
}

func TestEveryRuleHasItsReasonAndSource(t *testing.T) {
	require.Len(t, Rules(), len(harms))
	seen := map[Rule]bool{}
	for _, info := range Rules() {
		require.False(t, seen[info.Rule], info.Rule)
		seen[info.Rule] = true
		require.Greater(t, len(info.Why), 40, info.Rule)
		require.Greater(t, len(info.Source), 10, info.Rule)
		parsed, err := ParseRule(string(info.Rule))
		require.NoError(t, err)
		require.Equal(t, info.Rule, parsed)
	}
}

func TestParseRuleListsTheRules(t *testing.T) {
	for _, name := range []string{"elapsedcheck", "Mayority", ""} {
		_, err := ParseRule(name)
		for _, info := range Rules() {
			require.ErrorContains(t, err, string(info.Rule), name)
		}
	}
}

// Replies take longer than the TTL; is the lease granted all the same?
func slowReplies(t *testing.T, c *cluster, opts ...Option) bool {
	u := c.user(1, append(opts, WithNodeTimeout(time.Minute))...)
	u.warmUp(t)
	u.each(func(l *link) { l.onReply(slow("set", ttl+100*time.Millisecond)) })
	_, err := u.TryAcquire(t.Context(), key, ttl)
	if err != nil {
		require.ErrorIs(t, err, ErrTooLate)
	}
	return err == nil
}

// The servers' clocks run fast by half a percent; does another get in before
// validity is over?
func fastServers(t *testing.T, c *cluster, opts ...Option) bool {
	holder, other := c.user(1, opts...), c.user(2, opts...)
	l := holder.must(t)
	time.Sleep(l.Validity() - time.Millisecond)
	for _, s := range c.servers {
		s.FastForward(ttl / 200)
	}
	_, err := other.TryAcquire(t.Context(), key, ttl)
	return err == nil && l.Validity() > 0
}

// Replies take longer than the TTL, and the wall clock is set back meanwhile.
func wallClockSetBack(t *testing.T, c *cluster, opts ...Option) bool {
	u := c.user(1, append(opts, WithNodeTimeout(time.Minute))...)
	u.warmUp(t)
	var once sync.Once
	u.each(func(l *link) {
		l.onReply(func(command string) error {
			once.Do(func() { u.clock.setBack(ttl) })
			return slow("set", ttl+100*time.Millisecond)(command)
		})
	})
	l, err := u.TryAcquire(t.Context(), key, ttl)
	return err == nil && l.Validity() > 0
}

// Three nodes hang; how long does one attempt take?
func hungNodes(t *testing.T, c *cluster, opts ...Option) bool {
	u := c.user(1, opts...)
	u.each(func(l *link) { l.onCommand(slow("set", 3*time.Second)) }, 1, 2, 3)
	began := time.Now()
	_, err := u.TryAcquire(t.Context(), key, ttl)
	require.Error(t, err)
	return time.Since(began) > 100*time.Millisecond
}

// Three nodes take the key, but their replies are lost, and the attempt fails;
// are the keys left behind?
func lostReplies(t *testing.T, c *cluster, opts ...Option) bool {
	u := c.user(1, opts...)
	u.each(func(l *link) { l.onReply(breaking("set")) }, 1, 2, 3)
	_, err := u.TryAcquire(t.Context(), key, ttl)
	require.ErrorIs(t, err, ErrNoMajority)
	time.Sleep(ttl / 2)
	return c.owners()[0] != ""
}

// One SET is slow, and the lease is released meanwhile; does the SET leave a key?
func lateSet(t *testing.T, c *cluster, opts ...Option) bool {
	u := c.user(1, opts...)
	u.each(func(l *link) { l.onCommand(slow("set", 300*time.Millisecond)) }, 5)
	require.NoError(t, u.must(t).Release(t.Context()))
	time.Sleep(400 * time.Millisecond)
	return c.owners()[4] != ""
}

// The release of a failed attempt is held up and lands after the next attempt
// has won; does it take the key from it?
func lateRelease(t *testing.T, c *cluster, opts ...Option) bool {
	u := c.user(1, opts...)
	c.occupy("another", 1, 2, 3)
	u.each(func(l *link) {
		l.onCommand(func(command string) error {
			if command == "evalsha" {
				l.onCommand(nil) // only the first
				time.Sleep(400 * time.Millisecond)
				c.free(1, 2, 3)
				time.Sleep(400 * time.Millisecond)
			}
			return nil
		})
	}, 3)
	l, err := u.Acquire(t.Context(), key, ttl)
	require.NoError(t, err)
	time.Sleep(420 * time.Millisecond)
	require.Positive(t, l.Validity())
	return c.owners()[2] != l.Token()
}

// Three clients start together, each nearer to other nodes; does nobody win?
func splitVotes(t *testing.T, c *cluster, opts ...Option) bool {
	near := [][]int{{1, 2}, {3, 4}, {5}}
	users := []*user{c.user(1, opts...), c.user(2, opts...), c.user(3, opts...)}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var winners atomic.Int32
	var all sync.WaitGroup
	for i, u := range users {
		u.each(func(l *link) {
			l.onCommand(slow("set", 5*time.Millisecond))
			l.onReply(slow("set", 5*time.Millisecond)) // all SETs land before anyone gives up
		})
		u.each(func(l *link) { l.onCommand(nil) }, near[i]...)
		all.Go(func() {
			if _, err := u.Acquire(ctx, key, time.Minute); err == nil {
				winners.Add(1)
			}
		})
	}
	all.Wait()
	return winners.Load() == 0
}

// Two clients reach two nodes each of four; do both get the lock?
func twoHalves(t *testing.T, c *cluster, opts ...Option) bool {
	a, b := c.userOn(1, c.servers[:4], opts...), c.userOn(2, c.servers[:4], opts...)
	a.reach(1, 2)
	b.reach(3, 4)
	_, errA := a.TryAcquire(t.Context(), key, ttl)
	_, errB := b.TryAcquire(t.Context(), key, ttl)
	return errA == nil && errB == nil
}

// One server under two addresses, and two more that cannot be reached; is that
// one server enough?
func oneServerTwice(t *testing.T, c *cluster, opts ...Option) bool {
	list := []*miniredis.Miniredis{c.servers[0], c.servers[0], c.servers[1]}
	u := c.userOn(1, list, opts...)
	u.reach(1, 2)
	_, err := u.TryAcquire(t.Context(), key, ttl)
	if err != nil {
		require.ErrorIs(t, err, ErrDuplicateNode)
	}
	return err == nil
}

// A lease expires, another takes over, the first releases; is the other's key gone?
func releaseOfAnothers(t *testing.T, c *cluster, opts ...Option) bool {
	first, second := c.user(1, opts...), c.user(2, opts...)
	old := first.must(t)
	time.Sleep(ttl + time.Millisecond)
	l := second.must(t)
	if err := old.Release(t.Context()); err != nil {
		require.ErrorIs(t, err, ErrLost)
	}
	synctest.Wait() // for what goes on after the majority
	return c.owners()[0] != l.Token()
}

// A lease expires, another takes over, the first extends; does it succeed?
func extensionOfAnothers(t *testing.T, c *cluster, opts ...Option) bool {
	first, second := c.user(1, opts...), c.user(2, opts...)
	old := first.must(t)
	time.Sleep(ttl + time.Millisecond)
	second.must(t)
	err := old.Extend(t.Context())
	if err != nil {
		require.ErrorIs(t, err, ErrLost)
	}
	return err == nil
}

// An extension reaches two of five; does it count?
func extensionOfMinority(t *testing.T, c *cluster, opts ...Option) bool {
	u := c.user(1, opts...)
	l := u.must(t)
	u.reach(1, 2)
	err := l.Extend(t.Context())
	if err != nil {
		require.ErrorIs(t, err, ErrNoMajority)
	}
	return err == nil
}

// A holder extends for ever; can it?
func endlessExtension(t *testing.T, c *cluster, opts ...Option) bool {
	l := c.user(1, append(opts, WithMaxExtensions(3))...).must(t)
	for range 10 {
		time.Sleep(ttl / 2)
		if err := l.Extend(t.Context()); err != nil {
			require.ErrorIs(t, err, ErrBounded)
			return false
		}
	}
	return true
}
