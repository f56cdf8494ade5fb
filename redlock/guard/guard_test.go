package guard_test

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	peer "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/guard"
	"example.org/lockproof/redlock/rig"
	"example.org/lockproof/redlock/server"
)

func TestDuplicateFoundLate_IsRefusedFromThenOn(t *testing.T) {
	rig.InBubble(t, 3, func(t *testing.T, c *rig.Cluster) {
		u := c.UserOn(1, []*rig.Server{c.Servers[0], c.Servers[1], c.Servers[0]}, rig.Guarded(0))
		u.OnCommand(rig.Slow("set", time.Millisecond), 3)
		l := u.Must(t)
		time.Sleep(2 * time.Millisecond)
		_, err := u.Acquire(t.Context(), "k2", rig.TTL)
		require.ErrorIs(t, err, redlock.ErrDuplicateNode)
		require.ErrorContains(t, err, "nodes 0 (n1:6379) and 2 (n3:6379) are one server with run id")
		require.NoError(t, l.Release(t.Context()), "a held lease can still be released")
	})
}

func TestFirstExchangeFails_NodeIsIdentifiedByTheNext(t *testing.T) {
	rig.InBubble(t, 2, func(t *testing.T, c *rig.Cluster) {
		u := c.UserOn(1, []*rig.Server{c.Servers[0], c.Servers[0], c.Servers[1]}, rig.Guarded(0))
		u.Cut(2)
		require.NoError(t, u.Must(t).Release(t.Context()))
		u.OnCommand(nil, 2)
		l, err := u.TryAcquire(t.Context(), rig.Key, rig.TTL)
		for err == nil { // the other two may answer first
			synctest.Wait()
			require.NoError(t, l.Release(t.Context()))
			l, err = u.TryAcquire(t.Context(), rig.Key, rig.TTL)
			require.Less(t, time.Since(u.Clock.Origin), time.Minute)
			time.Sleep(time.Second)
		}
		require.ErrorIs(t, err, redlock.ErrDuplicateNode)
	})
}

func answerInfo(c *rig.Cluster, answer func(*peer.Peer)) {
	for _, s := range c.Servers {
		s.Server().SetPreHook(func(p *peer.Peer, cmd string, _ ...string) bool {
			if cmd == "INFO" {
				answer(p)
			}
			return cmd == "INFO"
		})
	}
}

func TestServerThatRefusesInfoStaysUnverified(t *testing.T) {
	cases := map[string]bool{"key is free": false, "key is held by another": true}
	rig.Cases(t, 3, cases, func(t *testing.T, c *rig.Cluster, held bool) {
		var asked atomic.Int32
		answerInfo(c, func(p *peer.Peer) {
			asked.Add(1)
			p.WriteError("NOPERM this user has no permissions to run the 'info' command")
		})
		u := c.User(1, rig.Guarded(0))
		if held {
			c.Occupy(1, 2, 3)
			_, err := u.TryAcquire(t.Context(), rig.Key, rig.TTL)
			require.ErrorIs(t, err, redlock.ErrHeld)
			synctest.Wait()
			c.Free(1, 2, 3)
		} else {
			u.WarmUp(t)
		}
		u.Must(t)
		synctest.Wait()
		require.EqualValues(t, 3, asked.Load(), "each is asked once")
	})
}

func guarded(c *rig.Cluster, seed uint64, opts ...rig.Option) *rig.User {
	return c.User(seed, append(opts, rig.Guarded(rig.Longest))...)
}

func infoCalls(c *rig.Cluster) (n int) {
	for _, s := range c.Servers {
		n += int(s.InfoCalls.Load())
	}
	return n
}

// tryReconnected acquires and releases the lock until the pool has no connection that has ended meanwhile. It returns
// the last try's error.
func tryReconnected(t *testing.T, u *rig.User) (err error) {
	for range 5 {
		var l *redlock.Lease
		if l, err = u.TryAcquire(t.Context(), rig.Key, rig.TTL); err == nil {
			require.NoError(t, l.Release(t.Context()))
		}
		synctest.Wait()
	}
	return err
}

func TestRestartedServerDoesNotVote(t *testing.T) {
	rig.InBubble(t, 3, func(t *testing.T, c *rig.Cluster) {
		time.Sleep(rig.Settled)
		u1, u2 := guarded(c, 1), guarded(c, 2)
		u1.Reach(1, 2)
		u2.Reach(2, 3)
		u1.Must(t)
		c.Servers[1].Restart()
		_, err := u2.TryAcquire(t.Context(), rig.Key, rig.TTL)
		require.ErrorIs(t, err, redlock.ErrNoMajority)
		require.ErrorIs(t, err, guard.ErrRestarted)
		require.ErrorContains(t, err, "node 1 (n2:6379): the server has restarted recently: it has been up for 0s, "+
			"and may have forgotten keys until 10.102s have passed")
		synctest.Wait()
		require.Empty(t, c.Owners()[1], "a key that does not count is released")

		time.Sleep(rig.Settled)
		require.NoError(t, u2.Must(t).Release(t.Context()))
	})
}

func TestNewServersVoteAfterTheLongestTTL(t *testing.T) {
	rig.InBubble(t, 3, func(t *testing.T, c *rig.Cluster) {
		u := guarded(c, 1)
		before := time.Now()
		l, err := u.Acquire(t.Context(), rig.Key, rig.TTL)
		require.NoError(t, err)
		waited := time.Since(before)
		require.Greater(t, waited, rig.Longest)
		require.Less(t, waited, rig.Settled)
		synctest.Wait()
		require.NoError(t, l.Extend(t.Context()))
		require.NoError(t, l.Release(t.Context()))
	})
}

func TestGuard_SendsInfoOnNewConnectionsOnly(t *testing.T) {
	rig.InBubble(t, 3, func(t *testing.T, c *rig.Cluster) {
		time.Sleep(rig.Settled)
		u := guarded(c, 1)
		for range 3 {
			u.WarmUp(t)
		}
		asked := infoCalls(c)
		require.LessOrEqual(t, asked, 9)
		for range 100 {
			u.WarmUp(t)
		}
		require.Equal(t, asked, infoCalls(c))
		c.Servers[0].Restart()
		require.NoError(t, tryReconnected(t, u), "the other two servers are unchanged")
		require.Greater(t, infoCalls(c), asked, "a new connection needs a new INFO")
	})
}

// The client library sends the SET again on a new connection, whose server is not verified yet.
func TestVoteOnAConnectionDialledMeanwhile(t *testing.T) {
	cases := map[string]bool{"to the same server": false, "to one that has restarted": true}
	rig.Cases(t, 3, cases, func(t *testing.T, c *rig.Cluster, restarted bool) {
		time.Sleep(rig.Settled)
		u := guarded(c, 1, rig.Clients(func(o *redis.Options) { o.MaxRetries = 1 }))
		u.Reach(1, 2)
		for range 3 {
			u.WarmUp(t)
		}
		p := c.Servers[0]
		asked, fault := p.InfoCalls.Load(), p.Drop
		if restarted {
			fault = p.Restart
		}
		var once sync.Once
		u.OnCommand(rig.At("set", func() error { once.Do(fault); return nil }), 1)
		_, err := u.TryAcquire(t.Context(), rig.Key, rig.TTL)
		synctest.Wait()
		if restarted {
			require.ErrorIs(t, err, guard.ErrRestarted)
		} else {
			require.NoError(t, err)
		}
		require.Equal(t, asked+1, p.InfoCalls.Load(), "one INFO after the SET")
	})
}

// A server whose clock ran late at its start reports a long uptime once the clock is right. A client that knew the
// run before is not deceived.
func TestServerClockStepsForward_EarlierRunBoundsUptime(t *testing.T) {
	rig.InBubble(t, 3, func(t *testing.T, c *rig.Cluster) {
		time.Sleep(rig.Settled)
		u1, u2 := guarded(c, 1), guarded(c, 2)
		for range 2 {
			u1.WarmUp(t)
		}
		for _, p := range c.Servers {
			p.Restart()
			p.SetForward(time.Hour)
		}
		require.ErrorIs(t, tryReconnected(t, u1), guard.ErrRestarted)
		time.Sleep(rig.Settled)
		require.NoError(t, u1.Must(t).Release(t.Context()), "by its own clock the servers have been up for long enough")

		for _, p := range c.Servers {
			p.Restart()
			p.SetForward(time.Hour)
		}
		u2.Must(t) // it knows no earlier run: see the package
	})
}

// The client does not notice a restart that ends none of its connections: see the package. A client with newer
// connections does.
func TestRestartBehindProxy_OldConnections_IsNotNoticed(t *testing.T) {
	rig.InBubble(t, 3, func(t *testing.T, c *rig.Cluster) {
		time.Sleep(rig.Settled)
		u1, u2, u3 := guarded(c, 1), guarded(c, 2), guarded(c, 3)
		for range 3 { // until every connection is verified
			u2.WarmUp(t)
		}
		u1.Reach(1, 2)
		u2.Reach(2, 3)
		u3.Reach(2, 3)
		u1.Must(t)
		c.Servers[1].RestartBehindProxy()
		_, err := u3.TryAcquire(t.Context(), rig.Key, rig.TTL)
		require.ErrorIs(t, err, guard.ErrRestarted)
		synctest.Wait()
		u2.Must(t) // although u1 still holds its lease
	})
}

func TestGuard_NoUptime_RefusesVotes(t *testing.T) {
	rig.Cases(t, 1, map[string]func(*peer.Peer){
		"refused":        func(p *peer.Peer) { p.WriteError("NOPERM no permissions to run the 'info' command") },
		"without uptime": func(p *peer.Peer) { p.WriteBulk("# Server\r\nrun_id:1\r\n") },
		"invalid uptime": func(p *peer.Peer) { p.WriteBulk("# Server\r\nuptime_in_seconds:long\r\n") },
	}, func(t *testing.T, c *rig.Cluster, answer func(*peer.Peer)) {
		answerInfo(c, answer)
		u := c.User(1, rig.Guarded(rig.Longest))
		for range 2 {
			_, err := u.TryAcquire(t.Context(), rig.Key, rig.TTL)
			require.ErrorIs(t, err, redlock.ErrNoMajority)
			require.ErrorContains(t, err, "no uptime, which the restart guard needs: allow INFO")
			synctest.Wait()
		}
	})
}

func TestExtend_ReplyToSetLost_CountsTheKey(t *testing.T) {
	rig.InBubble(t, 3, func(t *testing.T, c *rig.Cluster) {
		time.Sleep(rig.Settled)
		u := guarded(c, 1)
		for range 3 {
			u.WarmUp(t)
		}
		u.OnReply(rig.Losing("set"), 3)
		l := u.Must(t)
		u.OnReply(nil, 3)
		u.Reach(1, 3)
		c.Servers[1].Restart()
		require.NoError(t, l.Extend(t.Context()))
	})
}

// A wall clock set back makes an uptime short or negative. A client that has known the run for long enough by its own
// clock does not rely on it.
func TestServerClockSetBack_KnownServerStillVotes(t *testing.T) {
	rig.InBubble(t, 3, func(t *testing.T, c *rig.Cluster) {
		time.Sleep(rig.Settled)
		u, other := guarded(c, 1), guarded(c, 2)
		u.WarmUp(t)
		time.Sleep(rig.Settled)
		for _, p := range c.Servers {
			p.SetForward(-time.Hour)
			p.Drop()
		}
		require.NoError(t, tryReconnected(t, u))
		err := tryReconnected(t, other)
		require.ErrorIs(t, err, guard.ErrRestarted)
		require.ErrorContains(t, err, "it has been up for 0s")
		time.Sleep(rig.Settled)
		require.NoError(t, tryReconnected(t, other), "it has known the servers for long enough by now")
	})
}

// A wrong option must not switch the guard off in silence: with a negative drift every server could vote at once.
func TestServers_InvalidOptions_Fails(t *testing.T) {
	for want, o := range map[string]guard.Options{
		"Longest -1s: want":               {Longest: -time.Second},
		"Longest 1µs: want":               {Longest: time.Microsecond},
		"Drift -1: want":                  {Longest: time.Minute, Drift: -1},
		"Drift NaN: want":                 {Longest: time.Minute, Drift: math.NaN()},
		"Drift +Inf: want":                {Longest: time.Minute, Drift: math.Inf(1)},
		`no rule named "RestartGuardian"`: {Without: []redlock.Rule{"RestartGuardian"}},
	} {
		clients := []redis.UniversalClient{redis.NewClient(&redis.Options{Addr: "a:1"})}
		_, err := server.Nodes(clients, guard.Servers(o))
		require.ErrorContains(t, err, want)
	}
}
