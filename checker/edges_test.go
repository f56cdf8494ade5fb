package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// An outcome need not repeat what its invoke has said, and an ID may be far ahead of the count.
func TestOutcome_MayOmitInvokeFields(t *testing.T) {
	tell := func(repeated bool, first int) Verdict {
		s := tale()
		s.ids["c1"] = first - 1
		id := s.grant("c1", 0, 10, 900)
		s.extend("c1", id, 500, 510, 900)
		s.read("c1", id, 520, 530, "", 0)
		s.write("c1", id, 540, 550, history.TypeOK, "", "v1", 0)
		s.grant("c2", 1300, 1310, 900)
		s.write("c2", 1, 1320, 1330, history.TypeOK, "", "v2", 0)
		events := s.end(0)
		for i := range events {
			if e := &events[i]; e.Type == history.TypeOK && !repeated {
				e.Key, e.Base, e.Lease = "", "", 0
				if e.Op == history.OpWrite {
					e.Value = ""
				}
			}
		}
		verdict, err := check(events)
		require.NoError(t, err)
		return verdict
	}
	want := tell(true, 1)
	require.Equal(t, history.Violated, want.Of(MutualExclusion).Verdict)
	require.Equal(t, history.Violated, want.Of(ProtectedData).Verdict)
	require.Equal(t, want.Results, tell(false, 1).Results)
	require.Equal(t, want.Of(MutualExclusion).Measured, tell(true, 5000).Of(MutualExclusion).Measured)
}

func TestWilson_ExactAtZeroAndAll(t *testing.T) {
	for n := 1; n <= 2000; n++ {
		low, _ := Wilson(0, n)
		_, high := Wilson(n, n)
		require.Zero(t, low)
		require.Equal(t, 1.0, high)
	}
}

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

func TestRead_NamesEventOutOfOrder(t *testing.T) {
	s := tale()
	s.grant("c1", 20, 30, 500)
	events := s.end(0)
	events[2].Time = 10 * ms
	_, err := check(events)
	require.ErrorContains(t, err, "event 2 is at 10000000 ns, before event 1 at 20000000 ns")
}

// Where no limit is set, no stall spoils a run; one that is at the limit does.
func TestStall_ComparedWithLimit(t *testing.T) {
	for limit, spoilt := range map[int64]bool{0: false, 99: true, 100: true, 101: false} {
		s := tale()
		s.header.RealTime, s.header.StallLimit = true, limit*ms
		s.grant("c1", 0, 10, 900)
		s.grant("c2", 1000, 1010, 900)
		s.add(1000, history.Event{Process: "c2", Type: history.TypeStall, Late: 100 * ms})
		require.Equal(t, spoilt, s.judged(t, MutualExclusion).Cause == Stalled, limit)
	}
}

// Who kept the lock by extensions for exactly the bound, or waited for just as long, has not gone beyond it.
func TestBounds_AreInclusive(t *testing.T) {
	for beyond, verdict := range map[int64]string{0: history.Holds, 1: history.Violated} {
		s := tale()
		s.header.Bounds.Free = 1000 * ms
		s.attempt("c1", 0, 5, history.TypeFail)
		s.grant("c2", 5, 1005+beyond, 100)
		s.requireVerdict(t, DeadlockFreedom, verdict, "")

		s = tale()
		s.header.Bounds.Tenure = 1000 * ms
		id := s.grant("c1", 10, 100, 900)
		s.extend("c1", id, 600, 610, 490+beyond)
		s.grant("c2", 50, 1200, 900)
		s.requireVerdict(t, DeadlockFreedom, verdict, "")

		s = tale()
		s.header.Bounds.Grant = 500 * ms
		s.grant("c1", 0, 500+beyond, 100)
		s.grant("c2", 1000, 1010, 100)
		s.requireVerdict(t, FaultTolerance, verdict, "")

		s = tale()
		s.header.Bounds.Release = 200 * ms
		id = s.grant("c1", 0, 10, 900)
		s.release("c1", id, 100, 300+beyond, history.TypeOK)
		s.requireVerdict(t, FaultTolerance, verdict, "")
	}
}
