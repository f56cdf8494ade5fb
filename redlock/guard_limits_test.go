package redlock

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A client made by WithTimeout shares its parent's connections, and its hooks see none
// dialled. So the guard may not take what it knows for all that there is.
func TestGuardOfAClientWhoseDialsItDoesNotSee(t *testing.T) {
	onProcesses(t, func(t *testing.T, ps *processes) {
		time.Sleep(settled)
		u1, u2 := ps.user(1, plain), ps.user(2, plain)
		var shared []redis.UniversalClient
		for _, n := range u2.nodes {
			shared = append(shared, n.client.(*redis.Client).WithTimeout(time.Second))
		}
		other, err := New(shared, WithRestartGuard(longest), WithClock(u2.clock))
		require.NoError(t, err)
		ps.closers = append(ps.closers, other)
		u1.reach(1, 2)
		u2.reach(2, 3) // these are other's links
		for range 3 {
			l, err := other.TryAcquire(t.Context(), key, ttl)
			require.NoError(t, err)
			require.NoError(t, l.Release(t.Context()))
			synctest.Wait()
		}
		u1.must(t)
		ps.all[1].restart()
		for range 3 { // until no connection is left that has ended
			_, err = other.TryAcquire(t.Context(), key, ttl)
			require.ErrorIs(t, err, ErrNoMajority)
			synctest.Wait()
		}
		require.ErrorIs(t, err, ErrRestarted)
	})
}

// What a SET that came late left on a server that has restarted is no memory of others'
// leases. With it, u1 had a majority for its extension beside u2: on n1 it had prolonged its
// key while n2 and n3 forgot theirs by their time, and n4 and n5 had not been reached before.
func TestAnExtensionNeedsServersThatMayVote(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		ps := processesOf(c)
		time.Sleep(settled)
		var late atomic.Bool
		late.Store(true)
		index := 0
		u1 := ps.user(1, func(o *redis.Options) {
			dial, far := o.Dialer, index > 2
			index++
			o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				if far && late.Load() { // its first packet was lost, and is sent again after a second
					time.Sleep(ttl + 30*time.Millisecond)
				}
				return dial(ctx, network, addr)
			}
		})
		u2 := ps.user(2, plain)
		u2.reach(2, 3, 4)
		l, err := u1.TryAcquire(t.Context(), key, ttl)
		require.NoError(t, err)
		time.Sleep(ttl / 2)
		u1.reach(1, 4, 5)
		require.ErrorIs(t, l.Extend(t.Context()), ErrNoMajority)
		time.Sleep(ttl/2 - 45*time.Millisecond)
		other, err := u2.TryAcquire(t.Context(), key, ttl)
		require.NoError(t, err)
		ps.all[3].restart()
		time.Sleep(100 * time.Millisecond)
		require.Equal(t, []string{l.Token(), other.Token(), other.Token(), l.Token(), l.Token()}, ps.owners(), "so it is on the servers")
		late.Store(false)
		err = l.Extend(t.Context())
		require.Positive(t, other.Validity())
		require.ErrorIs(t, err, ErrNoMajority)
		require.ErrorIs(t, err, ErrRestarted)
	})
}

// Where an answer was lost and nothing restarted, the key that our SET took counts for an
// extension as any other does.
func TestAnExtensionCountsAKeyOfWhichNobodyHasHeard(t *testing.T) {
	onProcesses(t, func(t *testing.T, ps *processes) {
		time.Sleep(settled)
		u := ps.user(1, plain)
		for range 3 {
			u.warmUp(t)
		}
		u.each(func(l *link) { l.onReply(losing("set")) }, 3)
		l := u.must(t)
		u.each(func(l *link) { l.onReply(nil) }, 3)
		u.reach(1, 3)
		ps.all[1].restart()
		require.NoError(t, l.Extend(t.Context()))
	})
}

// A wall clock that is set back makes an uptime short, or negative. Who has heard the run for
// long enough by his own clock knows better.
func TestAClockThatIsSetBackCostsNoVoteOfWhoKnowsTheServer(t *testing.T) {
	onProcesses(t, func(t *testing.T, ps *processes) {
		time.Sleep(settled)
		u, other := ps.user(1, plain), ps.user(2, plain)
		u.warmUp(t)
		time.Sleep(settled)
		for _, p := range ps.all {
			p.setForward(-time.Hour)
			p.mu.Lock()
			p.drop()
			p.mu.Unlock()
		}
		require.NoError(t, u.tryReconnected(t))
		err := other.tryReconnected(t)
		require.ErrorIs(t, err, ErrRestarted)
		require.ErrorContains(t, err, "it has been up for 0s")
		time.Sleep(settled)
		require.NoError(t, other.tryReconnected(t), "it has heard them for long enough by now")
	})
}

// An answer to INFO that does not come is no refusal.
func TestAnUptimeThatDoesNotComeIsNotRefused(t *testing.T) {
	require.ErrorIs(t, untold(io.ErrUnexpectedEOF), io.ErrUnexpectedEOF)
	require.NotErrorIs(t, untold(io.ErrUnexpectedEOF), errUnguarded)
	require.ErrorIs(t, untold(context.DeadlineExceeded), ErrNodeTimeout)
}

// A client that had connections before the guard could count them is asked with every SET
// until one is new.
func TestGuardOfAClientThatWasInUse(t *testing.T) {
	onProcesses(t, func(t *testing.T, ps *processes) {
		time.Sleep(settled)
		u := ps.user(1, plain)
		u.warmUp(t)
		var used []redis.UniversalClient
		for _, n := range u.nodes {
			used = append(used, n.client)
		}
		other, err := New(used, WithRestartGuard(longest), WithClock(u.clock), WithBatchWait(0))
		require.NoError(t, err)
		ps.closers = append(ps.closers, other)
		asked := ps.info()
		for range 2 {
			l, err := other.TryAcquire(t.Context(), key, ttl)
			require.NoError(t, err)
			require.NoError(t, l.Release(t.Context()))
			synctest.Wait()
		}
		require.Equal(t, asked+6, ps.info())
		for _, p := range ps.all {
			p.restart()
		}
		for range 5 {
			_, err = other.TryAcquire(t.Context(), key, ttl)
			synctest.Wait()
		}
		require.ErrorIs(t, err, ErrRestarted)
	})
}
