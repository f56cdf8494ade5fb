package checker

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// A SET that says when the key ends, as the node's wall clock counts it, lets it live until then.
func TestKeyOwnership_EndsByNodeClock(t *testing.T) {
	s := tale()
	s.clock(0, "n1", 5000, 1, true)
	s.sets(100, "c1", "t1", 0, "n1")
	for i := range s.events {
		if c := s.events[i].Command; c != nil {
			c.ExpiresAt = 5900 * ms
		}
	}
	s.grant("c1", 90, 110, 500)
	for tenure := range s.history(t, 3000).Tenures() {
		require.Equal(t, 900*ms, tenure.Until)
		require.Equal(t, TenureExpired, tenure.Ended)
	}
}

func TestAKeyThatEndsNowHasAnExpiry(t *testing.T) {
	for ttl, kept := range map[int64]bool{0: false, -1: true} {
		s := tale()
		s.grant("c1", 0, 10, 100)
		s.look(50, "n1", "r1", "c1.1", ttl)
		r := s.judged(t, DeadlockFreedom)
		require.Equal(t, history.Inconclusive, r.Verdict)
		require.Equal(t, kept, strings.Contains(r.Reason, "without an expiry"), r.Reason)
	}
}

// A key whose owner was killed while it was there is no fault of the lock.
func TestAKilledOwnerExcusesItsKey(t *testing.T) {
	for killed, violated := range map[int64]bool{2505: false, 2506: true} {
		s := tale()
		s.sets(5, "c1", "t1", 2500, "n1", "n2", "n3")
		s.attempt("c1", 0, 10, history.TypeFail)
		s.instant(killed, "kill", "c1")
		s.attempt("c2", 20, 3000, history.TypeFail)
		require.Equal(t, violated, s.violated(t, FaultTolerance), killed)
	}
}
