package builtin

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// before runs do once, at a node's first command of this name.
func (n *node) before(command string, do func(p *server.Peer, args []string) (answered bool)) {
	done := false
	n.Miniredis.Server().SetPreHook(func(p *server.Peer, cmd string, args ...string) bool {
		if cmd != command || done {
			return false
		}
		done = true
		return do(p, args)
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

func TestFencingToken_NeedsAMajority(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, w *world) {
		for _, n := range w.nodes[:2] {
			n.before("GET", func(p *server.Peer, _ []string) bool { p.WriteError("ERR out of order"); return true })
		}
		_, err := w.lock("redlock-fenced", locks.Options{Tries: 1, Without: []string{"DistinctNodes"}}).Acquire(t.Context(),
			"k1")
		require.Equal(t, history.ReasonNoMajority, locks.Reason(err), err)
		require.ErrorContains(t, err, "read fence:k1: 1 of 3 nodes answered, 2 are needed")
		time.Sleep(ttl / 10)
		for _, n := range w.nodes {
			require.False(t, n.Exists("k1"), "a lease without a token is released")
		}
	})
}

func TestFenceClaim_TokenClaimedBefore_Fails(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, w *world) {
		c := w.env(locks.Options{}).Nodes[0]
		for _, claim := range []struct {
			token   int64
			claimed bool
		}{{3, true}, {3, false}, {2, false}, {4, true}} {
			ok, err := fenceClaim.Run(t.Context(), c, []string{"fence:k1"}, claim.token).Bool()
			require.NoError(t, err)
			require.Equal(t, claim.claimed, ok, claim.token)
		}
	})
}

// No other client acquires the key for ten TTLs, and one does after the release.
func TestRenewing_HoldsUntilReleased(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, w *world) {
		lease, err := w.lock(Renewing, locks.Options{}).Acquire(t.Context(), "k1")
		require.NoError(t, err)
		other := w.lock(locks.Reference, locks.Options{Tries: 1})
		for range 10 {
			time.Sleep(ttl)
			_, err := other.Acquire(t.Context(), "k1")
			require.Error(t, err, "the lease is extended by itself")
		}
		require.NoError(t, lease.Release(context.Background()))
		_, err = other.Acquire(t.Context(), "k1")
		require.NoError(t, err)
	})
}

// replicated answers WAIT like a master, with its replica cut off or not: the replica lacks the writes of a connection
// that has written, and reports all for one that has not.
func (n *node) replicated(cutOff bool) {
	wrote := map[*server.Peer]bool{}
	n.Miniredis.Server().SetPreHook(func(p *server.Peer, cmd string, args ...string) bool {
		switch cmd {
		case "SET":
			wrote[p] = true
		case "WAIT", "WAITAOF":
			have := 1
			if cutOff && wrote[p] {
				have = 0
			}
			if cmd == "WAITAOF" {
				p.WriteLen(2)
				p.WriteInt(1)
			}
			p.WriteInt(have)
			return true
		}
		return false
	})
}

func TestWait_CountsOnTheConnectionOfTheSetOnly(t *testing.T) {
	for _, tt := range []struct {
		connection locks.Connection
		disks      bool
		cutOff     bool
		refusal    string // "": granted
	}{
		{locks.ConnectionOne, false, false, ""},
		{locks.ConnectionOne, false, true, "0 of 1 replicas have acknowledged it"},
		{locks.ConnectionPool, false, false, ""},
		{locks.ConnectionPool, false, true, ""}, // the mistake
		{locks.ConnectionOne, true, false, ""},
		{locks.ConnectionOne, true, true, "0 of 1 replicas have it on their disks"},
		{locks.ConnectionPool, true, true, ""}, // likewise
	} {
		t.Run(fmt.Sprintf("%s disks %t cut off %t", tt.connection, tt.disks, tt.cutOff), func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, w *world) {
				w.nodes[0].replicated(tt.cutOff)
				o := locks.Options{Tries: 1,
					Settings: locks.Settings{Wait: 1, WaitAOF: tt.disks, Connection: tt.connection}}
				_, err := w.lock("single", o).Acquire(t.Context(), "k1")
				if tt.refusal == "" {
					require.NoError(t, err)
					return
				}
				require.ErrorContains(t, err, tt.refusal)
				require.NotEqual(t, history.ReasonHeld, locks.Reason(err))
			})
		})
	}
}
