package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

func TestAWaitIsTold(t *testing.T) {
	const said = `c2 waited 2.090 s (limit 1.500 s) for "k1" though the lock was free: it asked at 0.200 s; ` +
		`nobody held it and a majority of its nodes was in reach from 0.910 s to 3.000 s`
	for _, c := range []struct {
		tell           func(*story)
		property, said string
	}{
		{func(s *story) { s.grant("c1", 0, 10, 900); s.attempt("c2", 200, 3000, history.TypeFail) },
			DeadlockFreedom, said + "; it was still waiting"},
		{func(s *story) { s.grant("c1", 0, 10, 900); s.grant("c2", 200, 3000, 900) },
			DeadlockFreedom, said + ", when it was granted"},
		{func(s *story) { s.attempt("c1", 0, 1200, history.TypeFail) }, FaultTolerance, "it was not granted it"},
		{func(s *story) {
			s.attempt("c1", 0, 1200, history.TypeFail)
			s.attempt("c2", 0, 1200, history.TypeFail)
		}, FaultTolerance, "neither it nor its rivals (1) were granted it"},
	} {
		s := tale()
		c.tell(s)
		r := s.judged(t, c.property)
		require.Contains(t, r.Violations[0].What, c.said)
		if c.property == DeadlockFreedom {
			require.Equal(t, 2090*ms, r.Measured["longest_free"])
		}
	}
}

// Each client's stretch without a grant is told of once; two that only touch are two.
func TestStretchesThatTouchAreTwo(t *testing.T) {
	s := tale()
	s.lasting(0, 1200, "cut", "c1-n1", "c1-n2", "c1-n3")
	s.attempt("c1", 0, 3000, history.TypeFail)
	s.attempt("c2", 1, 1200, history.TypeFail)
	found := s.judged(t, FaultTolerance).Violations
	require.Len(t, found, 2)
	require.Equal(t, []int64{1200 * ms, 3000 * ms}, []int64{found[0].From, found[0].Until})
	require.Equal(t, []int64{1 * ms, 1200 * ms}, []int64{found[1].From, found[1].Until})
}

// Rivals have as long as one of them for each, whether or not a free lock has a bound.
func TestTheBoundAmongRivals(t *testing.T) {
	for _, free := range []int64{0, 1500 * ms} {
		for until, violated := range map[int64]bool{1000: false, 1001: true} {
			s := tale()
			s.header.Bounds.Free = free
			s.attempt("c1", 0, until, history.TypeFail)
			s.attempt("c2", 0, until, history.TypeFail)
			require.Equal(t, violated, s.violated(t, FaultTolerance), until)
		}
	}
}

// An attempt of which nobody knows how it ended may have left keys, as one that failed: a wait begins anew as it ends.
func TestAWaitBeginsAnewAsAnAttemptEnds(t *testing.T) {
	for outcome, violated := range map[history.Type]bool{history.TypeInfo: false, history.TypeFail: false, "": true} {
		s := tale()
		s.attempt("c1", 0, 1000, outcome)
		s.attempt("c2", 5, 2400, history.TypeFail)
		require.Equal(t, violated, s.violated(t, DeadlockFreedom), outcome)
	}
}

// Who is refused at once and asks anew after a pause, again and again, waits; who does so a few times does not, nor
// does one whose caller cancels at once. Pauses that are longer than the bound for a grant are its own affair.
func TestWhoAsksAnewWaits(t *testing.T) {
	for name, c := range map[string]struct {
		times, lasts, pause int64
		reason              string
		violated            bool
	}{
		"four times":                   {4, 5, 161, history.ReasonNoMajority, true},
		"four times, within the bound": {4, 5, 160, history.ReasonNoMajority, false},
		"longer pauses":                {6, 5, 501, history.ReasonNoMajority, true},
		"cancelled at once":            {11, 5, 200, history.ReasonCancelled, false},
		"cancelled after a while":      {11, 125, 200, history.ReasonCancelled, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := tale()
			s.header.Bounds.Free = 1500 * ms
			s.sets(1, "c2", "c2.1", 1000, "n1", "n2", "n3")
			s.grant("c2", 0, 10, 900)
			s.deletes(105, "c2", "c2.1", "n1", "n2", "n3")
			s.release("c2", 1, 100, 110, history.TypeOK)
			from := int64(1000)
			for range c.times {
				s.op(from, from+c.lasts, history.TypeFail, history.Event{Process: "c1", Op: history.OpAcquire, Key: "k1",
					Reason: c.reason})
				from += c.lasts + c.pause
			}
			require.Equal(t, c.violated, s.violated(t, FaultTolerance))
		})
	}
}

// Who asks anew waits for a lock that is free: not while the keys of a lease are in the way.
func TestWhoAsksAnewWaitsForALockThatIsFree(t *testing.T) {
	for deleted, violated := range map[bool]bool{true: true, false: false} {
		s := tale()
		s.sets(1, "c2", "c2.1", 10_000, "n1", "n2", "n3")
		s.grant("c2", 0, 10, 100)
		if deleted {
			s.deletes(105, "c2", "c2.1", "n1", "n2", "n3")
		}
		for from := int64(1000); from < 4000; from += 205 {
			s.attempt("c1", from, from+5, history.TypeFail)
		}
		require.True(t, s.violated(t, DeadlockFreedom), "a key that lives for ten TTLs does not excuse that")
		require.Equal(t, violated, s.violated(t, FaultTolerance))
	}
}
