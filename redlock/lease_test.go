package redlock

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestExtend(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		l := c.user(1).must(t)
		time.Sleep(ttl / 2)
		require.NoError(t, l.Extend(t.Context()))
		require.Equal(t, 988*time.Millisecond, l.Validity())
		synctest.Wait()
		for _, s := range c.servers {
			require.Equal(t, ttl, s.TTL(key))
		}
	})
}

func TestExtendThatFailsLeavesValidity(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		l := u.must(t)
		time.Sleep(ttl / 2)
		u.reach(1, 2)
		require.ErrorIs(t, l.Extend(t.Context()), ErrNoMajority)
		require.Equal(t, 488*time.Millisecond, l.Validity())

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, l.Extend(ctx), context.Canceled)
	})
}

func TestExtendOfExpiredLease(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		l := u.must(t)
		time.Sleep(l.Validity() + time.Millisecond)
		require.Negative(t, l.Validity())
		require.NoError(t, l.Extend(t.Context()), "the keys are still ours: the margin has not passed")
		require.Positive(t, l.Validity())

		time.Sleep(ttl)
		require.ErrorIs(t, l.Extend(t.Context()), ErrLost)
		require.Negative(t, l.Validity())
	})
}

// Who is told that a majority has the key no more holds nothing from then on,
// whatever is left of the validity.
func TestExtendOfALostLeaseEndsIt(t *testing.T) {
	for name, tc := range map[string]struct {
		gone, cut []int
		want      error
		over      bool
	}{
		"a majority has lost it":     {gone: []int{1, 2, 3}, want: ErrLost, over: true},
		"a majority does not answer": {cut: []int{1, 2, 3}, want: ErrNoMajority},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, c *cluster) {
				u := c.user(1)
				l := u.must(t)
				c.free(tc.gone...)
				if len(tc.cut) > 0 {
					u.each((*link).cut, tc.cut...)
				}
				require.ErrorIs(t, l.Extend(t.Context()), tc.want)
				require.Equal(t, tc.over, l.Validity() <= 0, l.Validity())
			})
		})
	}
}

// The nodes that still had the key have prolonged it, and nobody believes in it.
func TestExtendOfALostLeaseReleasesWhatIsLeft(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		l := c.user(1).must(t)
		synctest.Wait()
		c.free(1, 2, 3)
		require.ErrorIs(t, l.Extend(t.Context()), ErrLost)
		synctest.Wait()
		require.Equal(t, make([]string, 5), c.owners())
	})
}

// A SET that is under way when its lease is lost is followed by one release, and ends.
func TestALostLeaseIsGivenBackOnce(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		u.each(func(l *link) { l.onCommand(slow("set", 10*time.Millisecond)) }, 5)
		l := u.must(t)
		c.free(1, 2, 3)
		require.ErrorIs(t, l.Extend(t.Context()), ErrLost)
		require.ErrorIs(t, l.Release(t.Context()), ErrLost)
		require.NoError(t, u.Close())
		require.Equal(t, make([]string, 5), c.owners())
	})
}

func TestExtendTooLate(t *testing.T) {
	lateExtension := func(granted bool, opts ...Option) {
		inBubble(t, 5, func(t *testing.T, c *cluster) {
			u := c.user(1, append(opts, WithNodeTimeout(time.Minute))...)
			l := u.must(t)
			require.NoError(t, l.Extend(t.Context())) // now the servers know the script
			synctest.Wait()
			u.each(func(l *link) { l.onReply(slow("evalsha", ttl)) })
			err := l.Extend(t.Context())
			if granted {
				require.NoError(t, err)
				require.Positive(t, l.Validity())
				return
			}
			require.ErrorIs(t, err, ErrTooLate)
			require.Negative(t, l.Validity())
		})
	}
	lateExtension(false)
	lateExtension(true, Without(ElapsedCheck))
}

func TestExtensionsAreCarriedOutOneAfterAnother(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		l := u.must(t)
		u.each(func(l *link) { l.onReply(slow("evalsha", 20*time.Millisecond)) })
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

func TestExtendAfterRelease(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		l := c.user(1).must(t)
		require.NoError(t, l.Release(t.Context()))
		require.Zero(t, l.Validity())
		require.ErrorIs(t, l.Extend(t.Context()), ErrReleased)
		require.ErrorIs(t, l.Release(t.Context()), ErrReleased)
	})
}

func TestReleaseTellsWhatWasFound(t *testing.T) {
	for name, tc := range map[string]struct {
		gone, cut []int
		want      error
	}{
		"all ours":                        {},
		"two gone":                        {gone: []int{1, 2}},
		"two unreachable":                 {cut: []int{4, 5}},
		"three gone":                      {gone: []int{1, 2, 3}, want: ErrLost},
		"three unreachable":               {cut: []int{3, 4, 5}, want: ErrNoMajority},
		"two gone, one not to be reached": {gone: []int{1, 2}, cut: []int{3}, want: ErrNoMajority},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, c *cluster) {
				u := c.user(1)
				l := u.must(t)
				c.free(tc.gone...)
				if len(tc.cut) > 0 {
					u.each((*link).cut, tc.cut...)
				}
				err := l.Release(t.Context())
				if tc.want == nil {
					require.NoError(t, err)
					return
				}
				var failed *AttemptError
				require.ErrorAs(t, err, &failed)
				require.Equal(t, "release", failed.Op)
				require.ErrorIs(t, err, tc.want)
			})
		})
	}
}

// A release under a context that has ended is sent all the same.
func TestReleaseUnderEndedContext(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		l := c.user(1).must(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.Release(ctx); err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
		synctest.Wait()
		require.Equal(t, make([]string, 5), c.owners())
	})
}

// A release that fails is tried again until one TTL has passed.
func TestFailedReleaseIsTriedAgain(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		l := u.must(t)
		u.each((*link).cut, 5)
		require.NoError(t, l.Release(t.Context()))
		time.Sleep(ttl / 4)
		require.Equal(t, l.Token(), c.owners()[4])
		u.links[4].onCommand(nil)
		time.Sleep(ttl / 4)
		require.Empty(t, c.owners()[4])
	})
}

func TestCloseBringsOnTheLastTry(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		l := u.must(t)
		u.each((*link).cut, 5)
		require.NoError(t, l.Release(t.Context()))
		synctest.Wait()
		u.links[4].onCommand(nil)
		began := time.Now()
		require.NoError(t, u.Close())
		require.Zero(t, time.Since(began))
		require.Equal(t, make([]string, 5), c.owners())
	})
}

// A SET whose connection was given up may land after a release that found
// nothing; the release is sent once more.
func TestReleaseOfUnknownFateIsRepeated(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		u.each(func(l *link) { l.onCommand(breaking("set")) }, 5)
		l := u.must(t)
		require.NoError(t, l.Release(t.Context()))
		synctest.Wait()
		require.NoError(t, c.servers[4].Set(key, l.Token())) // it lands now
		time.Sleep(ttl / 8)
		require.Empty(t, c.owners()[4])
	})
}

// A SET that is slow lands after the release, and its reply never comes: the key
// is not left until the SET is given up.
func TestReleaseOfASlowSetWithoutReply(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		u.each(func(l *link) {
			l.onCommand(slow("set", 70*time.Millisecond))
			l.onReply(slow("set", time.Hour))
		}, 5)
		began := time.Now()
		require.NoError(t, u.must(t).Release(t.Context()))
		time.Sleep(100 * time.Millisecond)
		require.NotEmpty(t, c.owners()[4], "it landed after the release, and after the one that followed")
		time.Sleep(60 * time.Millisecond)
		require.Empty(t, c.owners()[4])
		require.Less(t, time.Since(began), ttl/2)
		time.Sleep(2 * time.Hour)
	})
}

// Where many releases fail, the node is down: they do not pile up.
func TestRepeatedReleasesAreBounded(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		u := c.user(1)
		u.each((*link).cut, 3)
		for range maxRetries + 10 {
			require.NoError(t, u.must(t).Release(t.Context()))
			synctest.Wait()
		}
		require.Len(t, u.retries, maxRetries)
		time.Sleep(2 * ttl)
		require.Empty(t, u.retries)
	})
}

// The script is sent in full only to servers that do not know it.
func TestScriptsAreSentOnce(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		u := c.user(1)
		var full atomic.Int32
		u.links[0].onCommand(func(command string) error {
			if command == "eval" {
				full.Add(1)
			}
			return nil
		})
		for range 3 {
			require.NoError(t, u.must(t).Release(t.Context()))
		}
		require.EqualValues(t, 1, full.Load())
	})
}

// No key is left on any node, whatever went wrong on the way.
func TestNoOrphans(t *testing.T) {
	for name, fault := range map[string]func(*user){
		"none":                   func(*user) {},
		"slow SET":               func(u *user) { u.each(func(l *link) { l.onCommand(slow("set", 40*time.Millisecond)) }, 3, 4) },
		"slow replies to SET":    func(u *user) { u.each(func(l *link) { l.onReply(slow("set", 80*time.Millisecond)) }, 2, 5) },
		"lost replies to SET":    func(u *user) { u.each(func(l *link) { l.onReply(losing("set")) }, 1, 2, 3) },
		"slow release":           func(u *user) { u.each(func(l *link) { l.onCommand(slow("evalsha", 90*time.Millisecond)) }, 4, 5) },
		"lost release":           func(u *user) { u.each(func(l *link) { l.onCommand(once(breaking("evalsha"))) }) },
		"lost reply to releases": func(u *user) { u.each(func(l *link) { l.onReply(once(losing("evalsha"))) }) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, c *cluster) {
				u := c.userWith(1, c.servers, func(o *redis.Options) { o.ContextTimeoutEnabled = true })
				fault(u)
				for range 5 {
					if l, err := u.TryAcquire(t.Context(), key, time.Minute); err == nil {
						_ = l.Release(t.Context())
					}
				}
				require.NoError(t, u.Close())
				require.Equal(t, make([]string, 5), c.owners())
			})
		})
	}
}

// Whoever waits for the answer to a release that was lost on its way leaves a key behind
// for as long: it is sent again after the node timeout.
func TestALostReleaseIsSentAgainAfterTheNodeTimeout(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		const timeout = 50 * time.Millisecond
		u := c.user(1, WithNodeTimeout(timeout))
		u.warmUp(t)
		l := u.must(t)
		u.each(func(l *link) {
			var lost atomic.Bool
			l.onCommand(func(command string) error {
				if command == "evalsha" && !lost.Swap(true) {
					return errLost
				}
				return nil
			})
		}, 1, 2)
		require.ErrorIs(t, l.Release(t.Context()), ErrNoMajority)
		require.Equal(t, []string{l.Token(), l.Token(), ""}, c.owners())
		time.Sleep(ttl / 10)
		require.Equal(t, make([]string, 3), c.owners())
	})
}

// once lets a fault happen once.
func once(fault func(string) error) func(string) error {
	var happened atomic.Bool
	return func(command string) error {
		err := fault(command)
		if err == nil || happened.Swap(true) {
			return nil
		}
		return io.ErrUnexpectedEOF
	}
}
