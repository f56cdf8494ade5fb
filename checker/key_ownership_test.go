package checker

import (
	"slices"
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

// What ended a key came while it was there, to the moment; and it expired if it was gone no earlier than its node's clock
// may be off.
func TestWhatEndedAKeyCameInItsTime(t *testing.T) {
	unanswered := func(at int64) func(*story) {
		return func(s *story) {
			if at < 10 { // before the SET is answered
				defer s.sets(10, "c1", "t1", 1000, "n1")
			} else {
				s.sets(10, "c1", "t1", 1000, "n1")
			}
			s.add(at, history.Event{Process: "c1>n1", Type: history.TypeCommand,
				Command: &history.Command{Serial: 900, Name: "EVAL", Key: "k1", Token: "t1", Effect: history.EffectDelete}})
			s.look(500, "n1", "r1", "", 0)
		}
	}
	next := func(at int64) func(*story) {
		return func(s *story) { s.sets(10, "c1", "t1", 1000, "n1"); s.sets(at, "c2", "t2", 1000, "n1") }
	}
	filled := func(at int64) func(*story) {
		return func(s *story) {
			s.sets(10, "c1", "t1", 1000, "n1")
			s.lasting(at, 900, "fill", "n1")
			s.look(500, "n1", "r1", "", 0)
		}
	}
	master := func(down int64) func(*story) {
		return func(s *story) {
			s.header.Nodes, s.header.Replicas = []string{"n2"}, map[string]string{"n1": "n2"}
			s.look(10, "n1", "r1", "t1", 1000)
			s.instant(down, "kill", "n2")
			s.look(500, "n1", "r1", "", 0)
		}
	}
	moves := func(at int64) func(*story) {
		return func(s *story) {
			s.sets(10, "c1", "t1", 1000, "n1")
			s.add(at, history.Event{Process: "nemesis", Type: history.TypeFault, Fault: &history.Fault{ID: 1, Kind: "migrate-slot",
				Class: history.SlotMoves, Phase: history.PhaseBegin, Targets: []string{"n2"}, Requested: map[string]string{"to": "n1"}}})
			s.look(500, "n1", "r1", "", 0)
		}
	}
	for _, test := range []struct {
		name  string
		tell  func(*story)
		ended string
	}{
		{"a slot moved to its node as it was set", moves(10), TenureMoved},
		{"a slot moved before", moves(9), TenureVanished},
		{"taken by another 2 ms before its end", next(1008), TenureExpired},
		{"3 ms before its end", next(1007), TenureVanished},
		{"memory filled as it was set", filled(10), TenureEvicted},
		{"memory filled before", filled(9), TenureVanished},
		{"its master went down as it was seen", master(10), TenureResynced},
		{"its master went down before", master(9), TenureVanished},
		{"a delete as it was set", unanswered(10), TenureDeleted},
		{"a delete before", unanswered(9), TenureVanished},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := tale()
			s.attempt("c1", 0, 20, history.TypeFail)
			test.tell(s)
			tenures := slices.Collect(s.history(t, 2000).Tenures())
			require.NotEmpty(t, tenures)
			require.Equal(t, test.ended, tenures[0].Ended)
		})
	}
}
