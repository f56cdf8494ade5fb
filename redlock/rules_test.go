package redlock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/rig"
)

// harms has a demonstration for each rule, on a cluster of five. It reports whether the harm occurs under the given
// options.
var harms = map[redlock.Rule]func(*testing.T, *rig.Cluster, ...rig.Option) bool{
	redlock.ElapsedCheck:      slowReplies,
	redlock.DriftMargin:       fastServers,
	redlock.MonotonicClock:    wallClockSetBack,
	redlock.NodeTimeout:       hungNodes,
	redlock.ReleaseEverywhere: lostReplies,
	redlock.ReleaseAfterSet:   lateSet,
	redlock.FreshToken:        lateRelease,
	redlock.RetryJitter:       splitVotes,
	redlock.Majority:          twoHalves,
	redlock.DistinctNodes:     oneServerTwice,
	redlock.RestartGuard:      restartWithoutKeys,
	redlock.CompareAndDelete:  releaseOfAnothers,
	redlock.ExtendOwnership:   extensionOfAnothers,
	redlock.ExtendMajority:    extensionOfMinority,
	redlock.BoundedExtensions: endlessExtension,
}

func TestEveryRulePreventsItsHarm(t *testing.T) {
	for _, info := range redlock.Rules() {
		t.Run(string(info.Rule), func(t *testing.T) {
			harm := harms[info.Rule]
			require.NotNil(t, harm, "no test shows what this rule is for")
			rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
				require.False(t, harm(t, c), "harm came about with the rule on")
			})
			rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
				require.True(t, harm(t, c, rig.Without(info.Rule)), "no harm without the rule")
			})
		})
	}
}

func TestEveryRuleHasItsReasonAndSource(t *testing.T) {
	require.Len(t, redlock.Rules(), len(harms))
	_, unknown := redlock.ParseRule("elapsedcheck")
	for _, info := range redlock.Rules() {
		require.NotEmpty(t, info.Why, info.Rule)
		require.NotEmpty(t, info.Source, info.Rule)
		parsed, err := redlock.ParseRule(string(info.Rule))
		require.NoError(t, err)
		require.Equal(t, info.Rule, parsed)
		require.ErrorContains(t, unknown, string(info.Rule))
	}
}

// Replies take longer than the TTL; is the lease granted all the same?
func slowReplies(t *testing.T, c *rig.Cluster, opts ...rig.Option) bool {
	u := c.User(1, append(opts, rig.Patient(time.Minute))...)
	u.WarmUp(t)
	u.OnReply(rig.Slow("set", rig.TTL+100*time.Millisecond))
	_, err := u.TryAcquire(t.Context(), rig.Key, rig.TTL)
	if err != nil {
		require.ErrorIs(t, err, redlock.ErrTooLate)
	}
	return err == nil
}

// The servers' clocks run fast by half a percent; does another client acquire within validity?
func fastServers(t *testing.T, c *rig.Cluster, opts ...rig.Option) bool {
	holder, other := c.User(1, opts...), c.User(2, opts...)
	l := holder.Must(t)
	time.Sleep(l.Validity() - time.Millisecond)
	for _, s := range c.Servers {
		s.FastForward(rig.TTL / 200)
	}
	_, err := other.TryAcquire(t.Context(), rig.Key, rig.TTL)
	return err == nil && l.Validity() > 0
}

// Replies take longer than the TTL, and the wall clock is set back meanwhile.
func wallClockSetBack(t *testing.T, c *rig.Cluster, opts ...rig.Option) bool {
	u := c.User(1, append(opts, rig.Patient(time.Minute))...)
	u.WarmUp(t)
	var once sync.Once
	u.Each(func(l *rig.Link) {
		l.OnReply(func(command string) error {
			once.Do(func() { u.Clock.SetBack(rig.TTL) })
			return rig.Slow("set", rig.TTL+100*time.Millisecond)(command)
		})
	})
	l, err := u.TryAcquire(t.Context(), rig.Key, rig.TTL)
	return err == nil && l.Validity() > 0
}

// Three nodes hang; how long does one attempt take?
func hungNodes(t *testing.T, c *rig.Cluster, opts ...rig.Option) bool {
	u := c.User(1, opts...)
	u.OnCommand(rig.Slow("set", 3*time.Second), 1, 2, 3)
	began := time.Now()
	_, err := u.TryAcquire(t.Context(), rig.Key, rig.TTL)
	require.Error(t, err)
	took := time.Since(began)
	if took == rig.TTL/20 {
		require.ErrorIs(t, err, redlock.ErrNoMajority)
		require.ErrorIs(t, err, redlock.ErrNodeTimeout)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
	}
	return took > rig.TTL/20
}

// Three nodes take the key, but their replies are lost, and the attempt fails;
// are the keys left behind?
func lostReplies(t *testing.T, c *rig.Cluster, opts ...rig.Option) bool {
	u := c.User(1, opts...)
	u.OnReply(rig.Breaking("set"), 1, 2, 3)
	_, err := u.TryAcquire(t.Context(), rig.Key, rig.TTL)
	require.ErrorIs(t, err, redlock.ErrNoMajority)
	time.Sleep(rig.TTL / 2)
	return c.Owners()[0] != ""
}

// One SET is slow, and the lease is released meanwhile; does the SET leave a key?
func lateSet(t *testing.T, c *rig.Cluster, opts ...rig.Option) bool {
	u := c.User(1, opts...)
	u.OnCommand(rig.Slow("set", 300*time.Millisecond), 5)
	require.NoError(t, u.Must(t).Release(t.Context()))
	time.Sleep(400 * time.Millisecond)
	return c.Owners()[4] != ""
}

// The release of a failed attempt is delayed and lands after the next attempt has won; does it delete that one's key?
func lateRelease(t *testing.T, c *rig.Cluster, opts ...rig.Option) bool {
	u := c.User(1, opts...)
	c.Occupy(1, 2, 3)
	u.Each(func(l *rig.Link) {
		l.OnCommand(rig.At("evalsha", func() error {
			l.OnCommand(nil) // only the first
			time.Sleep(400 * time.Millisecond)
			c.Free(1, 2, 3)
			time.Sleep(400 * time.Millisecond)
			return nil
		}))
	}, 3)
	l, err := u.Acquire(t.Context(), rig.Key, rig.TTL)
	require.NoError(t, err)
	time.Sleep(420 * time.Millisecond)
	require.Positive(t, l.Validity())
	return c.Owners()[2] != l.Token()
}

// Three clients start together, each nearer to other nodes; do all fail?
func splitVotes(t *testing.T, c *rig.Cluster, opts ...rig.Option) bool {
	near := [][]int{{1, 2}, {3, 4}, {5}}
	users := []*rig.User{c.User(1, opts...), c.User(2, opts...), c.User(3, opts...)}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var winners atomic.Int32
	var all sync.WaitGroup
	for i, u := range users {
		u.Each(func(l *rig.Link) {
			l.OnCommand(rig.Slow("set", 5*time.Millisecond))
			l.OnReply(rig.Slow("set", 5*time.Millisecond)) // all SETs land before anyone gives up
		})
		u.OnCommand(nil, near[i]...)
		all.Go(func() {
			if _, err := u.Acquire(ctx, rig.Key, time.Minute); err == nil {
				winners.Add(1)
			}
		})
	}
	all.Wait()
	return winners.Load() == 0
}

// Two clients reach two nodes each of four; do both get the lock?
func twoHalves(t *testing.T, c *rig.Cluster, opts ...rig.Option) bool {
	a, b := c.UserOn(1, c.Servers[:4], opts...), c.UserOn(2, c.Servers[:4], opts...)
	a.Reach(1, 2)
	b.Reach(3, 4)
	_, errA := a.TryAcquire(t.Context(), rig.Key, rig.TTL)
	_, errB := b.TryAcquire(t.Context(), rig.Key, rig.TTL)
	return errA == nil && errB == nil
}

// One server under two addresses, and one more that is unreachable; is that one server enough?
func oneServerTwice(t *testing.T, c *rig.Cluster, opts ...rig.Option) bool {
	list := []*rig.Server{c.Servers[0], c.Servers[0], c.Servers[1]}
	u := c.UserOn(1, list, append(opts, rig.Guarded(0))...)
	u.Reach(1, 2)
	_, err := u.TryAcquire(t.Context(), rig.Key, rig.TTL)
	if err != nil {
		require.ErrorIs(t, err, redlock.ErrDuplicateNode)
	}
	return err == nil
}

// A lease expires, another takes over, the first releases; is the other's key gone?
func releaseOfAnothers(t *testing.T, c *rig.Cluster, opts ...rig.Option) bool {
	first, second := c.User(1, opts...), c.User(2, opts...)
	old := first.Must(t)
	time.Sleep(rig.TTL + time.Millisecond)
	l := second.Must(t)
	if err := old.Release(t.Context()); err != nil {
		require.ErrorIs(t, err, redlock.ErrLost)
	}
	synctest.Wait() // for the replies after the majority
	return c.Owners()[0] != l.Token()
}

// A lease expires, another takes over, the first extends; does it succeed?
func extensionOfAnothers(t *testing.T, c *rig.Cluster, opts ...rig.Option) bool {
	first, second := c.User(1, opts...), c.User(2, opts...)
	old := first.Must(t)
	time.Sleep(rig.TTL + time.Millisecond)
	second.Must(t)
	err := old.Extend(t.Context())
	if err != nil {
		require.ErrorIs(t, err, redlock.ErrLost)
	}
	return err == nil
}

// An extension reaches two of five; does it count?
func extensionOfMinority(t *testing.T, c *rig.Cluster, opts ...rig.Option) bool {
	u := c.User(1, opts...)
	l := u.Must(t)
	u.Reach(1, 2)
	err := l.Extend(t.Context())
	if err != nil {
		require.ErrorIs(t, err, redlock.ErrNoMajority)
	}
	return err == nil
}

// Can a holder extend for ever?
func endlessExtension(t *testing.T, c *rig.Cluster, opts ...rig.Option) bool {
	l := c.User(1, append(opts, rig.With(func(o *redlock.Options) { o.MaxExtensions = 3 }))...).Must(t)
	for range 10 {
		time.Sleep(rig.TTL / 2)
		if err := l.Extend(t.Context()); err != nil {
			require.ErrorIs(t, err, redlock.ErrBounded)
			return false
		}
	}
	return true
}

// The example of redis.io's section on crash recovery: the node that both majorities share restarts without its keys.
// Does the other client acquire?
func restartWithoutKeys(t *testing.T, c *rig.Cluster, opts ...rig.Option) bool {
	time.Sleep(rig.Settled)
	opts = append(opts, rig.Guarded(rig.Longest))
	holder, other := c.User(1, opts...), c.User(2, opts...)
	holder.Reach(1, 2, 3)
	other.Reach(3, 4, 5)
	holder.Must(t)
	c.Servers[2].Restart()
	_, err := other.TryAcquire(t.Context(), rig.Key, rig.TTL)
	return err == nil
}
