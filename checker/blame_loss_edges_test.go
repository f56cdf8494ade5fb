package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
)

// edge is a story at a boundary, with what is blamed and what is said of it.
type edge struct {
	name       string
	tell       func(*story)
	broke, why string
}

// requireEdges tells each story and compares the blame of a property's first violation.
func requireEdges(t *testing.T, property string, edges []edge) {
	t.Helper()
	for _, e := range edges {
		t.Run(e.name, func(t *testing.T) {
			s := tale()
			e.tell(s)
			r := s.judged(t, property)
			require.Equal(t, history.Violated, r.Verdict, r.Reason)
			blame := r.Violations[0].Blame
			require.Equal(t, e.broke, blame.Broke, blame.Why)
			require.Contains(t, blame.Why, e.why)
		})
	}
}

// The margin for drift is 1.1 % of the TTL and 2 ms: 13 ms of a second. What a belief exceeds the key's life by is drift up
// to the margin; it is time that was not counted where the belief goes on for more than a TTL and the margin after the call.
func TestTheMarginForDriftMayBeUsedUp(t *testing.T) {
	believed := func(asked, granted, validity int64) func(*story) {
		return func(s *story) {
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			s.grant("c1", asked, granted, validity)
			s.sets(1007, "c2", "c2.1", 1000, "n3", "n4", "n5")
			s.grant("c2", 1006, 1010, 980)
		}
	}
	short := func(granted int64) func(*story) {
		return func(s *story) {
			s.sets(5, "c1", "c1.1", 100, "n1", "n2", "n3")
			s.grant("c1", 50, granted, 500)
			s.sets(107, "c2", "c2.1", 1000, "n3", "n4", "n5")
			s.grant("c2", 106, 110, 980)
		}
	}
	requireEdges(t, MutualExclusion, []edge{
		{"drift that a margin covers", believed(6, 6, 1012), "DriftMargin", "the key on n3 expired at 1.005 s"},
		{"more than that", believed(6, 6, 1013), Unexplained, "longer than drift"},
		{"a TTL and the margin after the call", believed(0, 6, 1007), "DriftMargin", ""},
		{"more than that", believed(0, 6, 1008), "ElapsedCheck", "took 6 ms"},
		{"the time that it took, and the margin", believed(0, 10, 1018), "ElapsedCheck", ""},
		{"more than that", believed(0, 10, 1019), Unexplained, ""},
		{"the time that it took", believed(2, 10, 1003), "ElapsedCheck", ""},
		{"more than that, and within the margin", believed(2, 10, 1004), "DriftMargin", ""},
		{"granted when the key was gone", short(105), "ElapsedCheck", ""},
		{"granted just before", short(104), Unexplained, ""},
	})
}

// A clock is set where its reading jumps by more than what two looks at it differ by. Only
// what makes keys end sooner or beliefs later is to blame, and what a margin covers is drift.
func TestOnlyAWrongClockIsBlamed(t *testing.T) {
	clocks := func(validity, again int64, set func(*story)) func(*story) {
		return func(s *story) {
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			set(s)
			s.grant("c1", 6, 6, validity)
			s.sets(again+1, "c2", "c2.1", 1000, "n3", "n4", "n5")
			s.grant("c2", again, again+2, 980)
		}
	}
	setBy := func(process string, by int64) func(*story) {
		return func(s *story) { s.clock(100, process, 100+by, 1, process == "n3") }
	}
	runs := func(process string, rate float64) func(*story) {
		return func(s *story) { s.clock(1, process, 1, rate, process == "n3") }
	}
	requireEdges(t, MutualExclusion, []edge{
		{"a node's looks differ", clocks(1005, 1004, setBy("n3", 2)), "DriftMargin",
			"the key on n3 expired at 1.003 s, before c1's validity"},
		{"a node's clock is put forward", clocks(1005, 1004, setBy("n3", 3)), ClocksAgree, "n3's clock jumped by 3 ms"},
		{"a node's clock is put back", clocks(1012, 1015, setBy("n3", -10)), "DriftMargin",
			"the key on n3 expired at 1.015 s, before c1's validity"},
		{"a client's looks differ", clocks(1005, 1006, setBy("c1", -2)), "DriftMargin",
			"the key on n3 expired at 1.005 s, before c1's validity"},
		{"a client's clock is put back", clocks(1005, 1006, setBy("c1", -3)), ClocksAgree, "c1's clock jumped by -3 ms"},
		{"a client's clock is put forward", clocks(1010, 1006, setBy("c1", 3)), "DriftMargin",
			"the key on n3 expired at 1.005 s, before c1's validity"},
		{"a node runs as fast as no margin covers", clocks(999, 995, runs("n3", 1.011)), ClocksAgree, "n3's clock ran at 1.011"},
		{"a node runs as fast as a margin covers", clocks(999, 996, runs("n3", 1.01)), "DriftMargin", "n3's clock ran at 1.01,"},
		{"a client runs as slowly as no margin covers", clocks(1000, 1006, runs("c1", 0.989)), ClocksAgree, "c1's clock ran at 0.989"},
		{"a client runs as slowly as a margin covers", clocks(1001, 1006, runs("c1", 0.99)), "DriftMargin", "c1's clock ran at 0.99,"},
		{"a node's clock is put forward just after the SET", clocks(1000, 700, func(s *story) { s.clock(5, "n3", 405, 1, true) }),
			ClocksAgree, "n3's clock jumped by 400 ms"},
	})
}

// Of two deletions it is the one that ended the key that tells which rule was broken.
func TestTheDeletionThatEndedTheKeyIsBlamed(t *testing.T) {
	deletions := func(token, later string) func(*story) {
		return func(s *story) {
			shared(s, func() { s.deletes(100, "c1", token, "n3"); s.deletes(200, "c1", later, "n1") })
		}
	}
	requireEdges(t, MutualExclusion, []edge{
		{"with the token", deletions("c1.1", ""), "FreshToken", ""},
		{"without one", deletions("", "c1.1"), "CompareAndDelete", "names no token"},
	})
}
