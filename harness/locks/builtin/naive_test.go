package builtin

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// before runs something once, when a node meets a command for the first time.
func (n *node) before(command string, do func(p *server.Peer, args []string) (answered bool)) {
	done := false
	n.Server().SetPreHook(func(p *server.Peer, cmd string, args ...string) bool {
		if cmd != command || done {
			return false
		}
		done = true
		return do(p, args)
	})
}

func TestGetThenDel_DeletesNewOwnersKey(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, w *world) {
		lease, err := w.lock("get-then-del", locks.Options{}).Acquire(t.Context(), "k1")
		require.NoError(t, err)
		w.nodes[0].before("DEL", func(*server.Peer, []string) bool {
			require.NoError(t, w.nodes[0].Set("k1", "another's"))
			return false
		})
		require.NoError(t, lease.Release(t.Context()))
		require.False(t, w.nodes[0].Exists("k1"))
	})
}

func TestSetnxExpire_CrashLeavesKeyForever(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, w *world) {
		w.nodes[0].before("PEXPIRE", func(p *server.Peer, _ []string) bool { p.Close(); return true })
		_, err := w.lock("setnx-expire", locks.Options{Tries: 1}).Acquire(t.Context(), "k1")
		require.Error(t, err)
		time.Sleep(100 * ttl)
		_, err = w.lock("setnx-expire", locks.Options{Tries: 1}).Acquire(t.Context(), "k1")
		require.Equal(t, history.ReasonHeld, locks.Reason(err), err)
	})
}

func TestSingle_CleansUpUnansweredSet(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, w *world) {
		w.nodes[0].before("SET", func(p *server.Peer, args []string) bool {
			require.NoError(t, w.nodes[0].Set(args[0], args[1]))
			p.Close() // the SET took effect and its reply is lost
			return true
		})
		l := w.lock("single", locks.Options{Tries: 1})
		_, err := l.Acquire(t.Context(), "k1")
		require.Equal(t, history.ReasonNoMajority, locks.Reason(err), err)
		require.NoError(t, l.Close())
		require.False(t, w.nodes[0].Exists("k1"))
	})
}

func TestRelease_TwiceReturnsLost(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, w *world) {
		lease, err := w.lock("single", locks.Options{}).Acquire(t.Context(), "k1")
		require.NoError(t, err)
		require.NoError(t, lease.Release(t.Context()))
		require.Equal(t, history.ReasonLost, locks.Reason(lease.Release(t.Context())))
	})
}

// TestFencingTokensGrow lets the counters of a minority be wiped before each
// grant, and requires that tokens grow all the same.
func TestFencingTokensGrow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		wiped := rapid.SliceOfN(rapid.IntRange(0, 4), 1, 12).Draw(rt, "the one node that each client cannot reach")
		inBubble(t, 5, func(t *testing.T, w *world) {
			last := int64(0)
			for _, i := range wiped {
				w.nodes[i].down.Store(true)
				lease, err := w.lock("redlock-fenced", locks.Options{}).Acquire(t.Context(), "k1")
				require.NoError(t, err)
				require.Greater(t, lease.Fence(), last)
				last = lease.Fence()
				require.NoError(t, lease.Release(t.Context()))
				w.nodes[i].down.Store(false)
			}
		})
	})
}

func TestAFencingTokenNeedsAMajority(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, w *world) {
		for _, n := range w.nodes[:2] {
			n.before("GET", func(p *server.Peer, _ []string) bool { p.WriteError("ERR out of order"); return true })
		}
		_, err := w.lock("redlock-fenced", locks.Options{Tries: 1, Without: []string{"DistinctNodes"}}).Acquire(t.Context(), "k1")
		require.Equal(t, history.ReasonNoMajority, locks.Reason(err), err)
		require.ErrorContains(t, err, "read fence:k1: 1 of 3 nodes answered, 2 are needed")
		time.Sleep(ttl / 10)
		for _, n := range w.nodes {
			require.False(t, n.Exists("k1"), "a lease without a token is given back")
		}
	})
}

func TestAClaimedTokenIsNotClaimedAgain(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, w *world) {
		c := w.env(locks.Options{}).Nodes[0]
		claim := func(token int64) bool {
			ok, err := fenceClaim.Run(context.Background(), c, []string{"fence:k1"}, token).Bool()
			require.NoError(t, err)
			return ok
		}
		require.True(t, claim(3))
		require.False(t, claim(3))
		require.False(t, claim(2))
		require.True(t, claim(4))
		require.ErrorIs(t, c.Get(t.Context(), "k1").Err(), redis.Nil)
	})
}

func TestGuessableTokensAreTheSameWithinASecond(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, w *world) {
		var tokens []string
		for range 2 {
			lease, err := w.lock("redlock-guessable", locks.Options{}).Acquire(t.Context(), "k1")
			require.NoError(t, err)
			tokens = append(tokens, lease.Token())
			require.NoError(t, lease.Release(t.Context()))
		}
		require.Equal(t, tokens[0], tokens[1])
		time.Sleep(time.Second)
		lease, err := w.lock("redlock-guessable", locks.Options{}).Acquire(t.Context(), "k1")
		require.NoError(t, err)
		require.NotEqual(t, tokens[0], lease.Token())
	})
}
