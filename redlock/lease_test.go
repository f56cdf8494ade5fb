package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/rig"
)

func TestExtend_ValidityOver_SucceedsWhileTheKeysAreOurs(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1)
		l := u.Must(t)
		time.Sleep(l.Validity() + time.Millisecond)
		require.Negative(t, l.Validity())
		require.NoError(t, l.Extend(t.Context()), "the keys are still ours: the margin has not passed")
		require.Equal(t, 988*time.Millisecond, l.Validity())
		synctest.Wait()
		for _, s := range c.Servers {
			require.Equal(t, rig.TTL, s.TTL(rig.Key))
		}

		time.Sleep(rig.TTL)
		require.ErrorIs(t, l.Extend(t.Context()), redlock.ErrLost)
		require.Negative(t, l.Validity())
	})
}

// After ErrLost the client holds no lease, even within its validity. The nodes that still had the key have prolonged
// it, and it is released.
func TestExtend_LeaseLost_EndsValidity(t *testing.T) {
	type row struct {
		gone, cut []int
		want      error
		validity  time.Duration
		owners    int
	}
	rig.Cases(t, 5, map[string]row{
		"a majority has lost it":     {[]int{1, 2, 3}, nil, redlock.ErrLost, 0, 0},
		"a majority does not answer": {nil, []int{1, 2, 3}, redlock.ErrNoMajority, 488 * time.Millisecond, 5},
	}, func(t *testing.T, c *rig.Cluster, tc row) {
		u := c.User(1)
		l := u.Must(t)
		time.Sleep(rig.TTL / 2)
		c.Free(tc.gone...)
		u.Cut(tc.cut...)
		require.ErrorIs(t, l.Extend(t.Context()), tc.want)
		require.Equal(t, tc.validity, max(l.Validity(), 0))
		synctest.Wait()
		require.Len(t, strings.Join(c.Owners(), ""), tc.owners*len(l.Token()))
	})
}

func TestExtend_TooLateUnlessElapsedTimeIsIgnored(t *testing.T) {
	cases := map[string][]redlock.Rule{"with the rule": nil, "without it": {redlock.ElapsedCheck}}
	rig.Cases(t, 5, cases, func(t *testing.T, c *rig.Cluster, off []redlock.Rule) {
		u := c.User(1, rig.Without(off...), rig.Patient(time.Minute))
		l := u.Must(t)
		require.NoError(t, l.Extend(t.Context())) // now the servers know the script
		synctest.Wait()
		u.OnReply(rig.Slow("evalsha", rig.TTL))
		err := l.Extend(t.Context())
		if off != nil {
			require.NoError(t, err)
			require.Positive(t, l.Validity())
			return
		}
		require.ErrorIs(t, err, redlock.ErrTooLate)
		require.Negative(t, l.Validity())
	})
}

func TestExtend_Concurrent_RunsOneAtATime(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1)
		l := u.Must(t)
		u.OnReply(rig.Slow("evalsha", 20*time.Millisecond))
		done := make(chan error, 2)
		for range 2 {
			go func() { done <- l.Extend(t.Context()) }()
		}
		time.Sleep(time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, l.Extend(ctx), context.DeadlineExceeded, "waiting for its turn ends with its context")
		require.NoError(t, <-done)
		require.NoError(t, <-done)
	})
}

func TestExtendAndRelease_AfterARelease_AreRefused(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		l := c.User(1).Must(t)
		require.NoError(t, l.Release(t.Context()))
		require.Zero(t, l.Validity())
		require.ErrorIs(t, l.Extend(t.Context()), redlock.ErrReleased)
		require.ErrorIs(t, l.Release(t.Context()), redlock.ErrReleased)
	})
}

// The extension finds no key, because its own client has deleted it: nobody else can have the lock through that.
func TestExtend_ReleasedMeanwhile_FailsWithThatCause(t *testing.T) {
	rig.Cases(t, 5, map[string]func(*rig.Link){
		"the extension is overtaken":    func(l *rig.Link) { l.OnCommand(rig.Slow("evalsha", 10*time.Millisecond)) },
		"the extension's reply is late": func(l *rig.Link) { l.OnReply(rig.Slow("evalsha", 10*time.Millisecond)) },
	}, func(t *testing.T, c *rig.Cluster, fault func(*rig.Link)) {
		u := c.User(1)
		l := u.Must(t)
		require.NoError(t, l.Extend(t.Context())) // now the servers know the script
		synctest.Wait()
		u.Each(fault)
		extended := make(chan error)
		go func() { extended <- l.Extend(t.Context()) }()
		synctest.Wait()
		u.OnCommand(nil)
		u.OnReply(nil)
		require.NoError(t, l.Release(t.Context()))
		err := <-extended
		require.ErrorIs(t, err, redlock.ErrReleased)
		require.NotErrorIs(t, err, redlock.ErrLost)
		require.Zero(t, l.Validity())
		synctest.Wait()
		require.Equal(t, make([]string, 5), c.Owners())
	})
}

func TestRelease_Fails_ReasonReflectsVotes(t *testing.T) {
	type row struct {
		gone, cut []int
		want      error
	}
	rig.Cases(t, 5, map[string]row{
		"all ours":                  {},
		"two gone":                  {gone: []int{1, 2}},
		"two unreachable":           {cut: []int{4, 5}},
		"three gone":                {gone: []int{1, 2, 3}, want: redlock.ErrLost},
		"three unreachable":         {cut: []int{3, 4, 5}, want: redlock.ErrNoMajority},
		"two gone, one unreachable": {gone: []int{1, 2}, cut: []int{3}, want: redlock.ErrNoMajority},
	}, func(t *testing.T, c *rig.Cluster, tc row) {
		u := c.User(1)
		l := u.Must(t)
		c.Free(tc.gone...)
		u.Cut(tc.cut...)
		err := l.Release(t.Context())
		if tc.want == nil {
			require.NoError(t, err)
			return
		}
		var failed *redlock.AttemptError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, "release", failed.Op)
		require.ErrorIs(t, err, tc.want)
	})
}

func TestRelease_NodeUnreachable_IsRetried(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1)
		l := u.Must(t)
		u.Cut(5)
		require.NoError(t, l.Release(t.Context()))
		time.Sleep(rig.TTL / 4)
		require.Equal(t, l.Token(), c.Owners()[4])
		u.Links[4].OnCommand(nil)
		time.Sleep(rig.TTL / 4)
		require.Empty(t, c.Owners()[4])
	})
}

// A SET whose connection broke may land after a release that found nothing, so the release is sent once more.
func TestRelease_OutcomeOfSetUnknown_IsRepeated(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1)
		u.OnCommand(rig.Breaking("set"), 5)
		l := u.Must(t)
		require.NoError(t, l.Release(t.Context()))
		synctest.Wait()
		require.NoError(t, c.Servers[4].Set(rig.Key, l.Token())) // it lands now
		time.Sleep(rig.TTL / 8)
		require.Empty(t, c.Owners()[4])
	})
}

// A slow SET lands after the release, and its reply never comes. The key must not stay until the SET's call ends.
func TestRelease_SlowSetWithoutReply_DeletesItsKey(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1)
		u.Each(func(l *rig.Link) {
			l.OnCommand(rig.Slow("set", 70*time.Millisecond))
			l.OnReply(rig.Slow("set", time.Hour))
		}, 5)
		began := time.Now()
		require.NoError(t, u.Must(t).Release(t.Context()))
		time.Sleep(100 * time.Millisecond)
		require.NotEmpty(t, c.Owners()[4], "it landed after the release, and after the one that followed")
		time.Sleep(60 * time.Millisecond)
		require.Empty(t, c.Owners()[4])
		require.Less(t, time.Since(began), rig.TTL/2)
		time.Sleep(2 * time.Hour)
	})
}

func TestFaults_LeaveNoOrphanedKeys(t *testing.T) {
	rig.Cases(t, 5, map[string]func(*rig.User){
		"none":                func(*rig.User) {},
		"slow SET":            func(u *rig.User) { u.OnCommand(rig.Slow("set", 40*time.Millisecond), 3, 4) },
		"slow replies to SET": func(u *rig.User) { u.OnReply(rig.Slow("set", 80*time.Millisecond), 2, 5) },
		"lost replies to SET": func(u *rig.User) { u.OnReply(rig.Losing("set"), 1, 2, 3) },
		"slow release":        func(u *rig.User) { u.OnCommand(rig.Slow("evalsha", 90*time.Millisecond), 4, 5) },
		"lost release":        func(u *rig.User) { u.Each(func(l *rig.Link) { l.OnCommand(once(rig.Breaking("evalsha"))) }) },
		"lost reply to releases": func(u *rig.User) {
			u.Each(func(l *rig.Link) { l.OnReply(once(rig.Losing("evalsha"))) })
		},
	}, func(t *testing.T, c *rig.Cluster, fault func(*rig.User)) {
		u := c.User(1, rig.Clients(func(o *redis.Options) { o.ContextTimeoutEnabled = true }))
		fault(u)
		for range 5 {
			if l, err := u.TryAcquire(t.Context(), rig.Key, time.Minute); err == nil {
				_ = l.Release(t.Context())
			}
		}
		require.NoError(t, u.Close())
		require.Equal(t, make([]string, 5), c.Owners())
	})
}

// Until the release is sent again, its key stays.
func TestRelease_CommandLost_IsResentAfterTheNodeTimeout(t *testing.T) {
	rig.InBubble(t, 3, func(t *testing.T, c *rig.Cluster) {
		const timeout = 50 * time.Millisecond
		u := c.User(1, rig.Patient(timeout))
		u.WarmUp(t)
		l := u.Must(t)
		u.Each(func(l *rig.Link) { l.OnCommand(once(rig.Failing("evalsha", rig.ErrLost))) }, 1, 2)
		require.ErrorIs(t, l.Release(t.Context()), redlock.ErrNoMajority)
		require.Equal(t, []string{l.Token(), l.Token(), ""}, c.Owners())
		time.Sleep(rig.TTL / 10)
		require.Equal(t, make([]string, 3), c.Owners())
	})
}

// The releases that wait for one node that is down must not use up the retries of the others.
func TestRelease_AnotherNodeIsDown_IsRetriedAllTheSame(t *testing.T) {
	rig.InBubble(t, 3, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1)
		u.Cut(3)
		for i := range 300 {
			l, err := u.TryAcquire(t.Context(), fmt.Sprintf("other-%d", i), 10*time.Second)
			require.NoError(t, err)
			require.NoError(t, l.Release(t.Context()))
		}
		l, err := u.TryAcquire(t.Context(), rig.Key, 10*time.Second)
		require.NoError(t, err)
		u.Each(func(l *rig.Link) { l.OnCommand(once(rig.Breaking("evalsha"))) }, 1)
		require.ErrorIs(t, l.Release(t.Context()), redlock.ErrNoMajority)
		time.Sleep(time.Second)
		require.Equal(t, make([]string, 3), c.Owners())
	})
}

func once(fault func(string) error) func(string) error {
	var happened atomic.Bool
	return func(command string) error {
		if err := fault(command); err != nil && !happened.Swap(true) {
			return err
		}
		return nil
	}
}

func TestClose_EndsWaitsAndWatches_RefusesNewWork(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1)
		l := u.Must(t)
		ctx := l.Watch(t.Context())
		waiting := make(chan error)
		go func() {
			_, err := u.Acquire(t.Context(), rig.Key, rig.TTL)
			waiting <- err
		}()
		time.Sleep(10 * time.Millisecond)
		closed := make(chan error)
		go func() { closed <- u.Close() }()
		require.ErrorIs(t, <-waiting, redlock.ErrClosed)
		require.NoError(t, <-closed)
		require.NoError(t, u.Close(), "a second Close")

		require.ErrorIs(t, context.Cause(ctx), redlock.ErrClosed)
		require.ErrorIs(t, context.Cause(l.Watch(t.Context())), redlock.ErrClosed)
		require.ErrorIs(t, l.Extend(t.Context()), redlock.ErrClosed)
		require.ErrorIs(t, l.Release(t.Context()), redlock.ErrClosed)
		_, err := u.TryAcquire(t.Context(), rig.Key, rig.TTL)
		require.ErrorIs(t, err, redlock.ErrClosed)
		require.Equal(t, l.Token(), c.Owners()[0], "leases are not released by Close")
	})
}

func TestClose_WaitsForLateSetsAndTheirReleases(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1)
		u.OnCommand(rig.Slow("set", 500*time.Millisecond), 4, 5)
		began := time.Now()
		require.NoError(t, u.Must(t).Release(t.Context()))
		require.Zero(t, time.Since(began), "neither acquire nor release waits for the slow nodes")
		require.NoError(t, u.Close())
		require.Equal(t, 500*time.Millisecond, time.Since(began))
		require.Equal(t, make([]string, 5), c.Owners())
	})
}

// The longest chain of one node, with a client that ends calls with their contexts: a SET, its release, and the
// release's last retry.
func TestClose_HungNode_WaitsForTheChainOfCalls(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1, rig.Clients(func(o *redis.Options) { o.ContextTimeoutEnabled = true }))
		u.WarmUp(t)
		u.Each((*rig.Link).Hang, 5)
		began := time.Now()
		require.NoError(t, u.Must(t).Release(t.Context()))
		require.NoError(t, u.Close())
		took := time.Since(began)
		require.Greater(t, took, 3*rig.TTL, "the calls are carried out one after another")
		require.Less(t, took, 3*rig.TTL+time.Second)
	})
}

func TestClose_CallsDoNotEnd_Fails(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1)
		u.OnCommand(rig.Slow("set", time.Minute), 5)
		u.Must(t)
		began := time.Now()
		require.ErrorContains(t, u.Close(), "calls to nodes are still under way after 4s")
		require.Equal(t, 3*rig.TTL+time.Second, time.Since(began))
		time.Sleep(time.Minute)
	})
}
