package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
)

// A key that an attempt left behind a fault is blamed on the fault, unless the attempt left one
// as well where no fault ever was: then no release was sent.
func TestAnAttemptThatGaveNothingBack(t *testing.T) {
	const key = 2500
	left := func(s *story) { s.sets(5, "c1", "t1", key, "n1", "n2", "n3") }
	held := func(s *story) { s.lasting(1, 40, "cut", "c1-n1") }
	failed := func(s *story) { s.attempt("c1", 0, 10, history.TypeFail) }
	cut := func(from, until int64) func(*story) {
		return func(s *story) { left(s); held(s); failed(s); s.lasting(from, until, "cut", "c1-n2", "c1-n3") }
	}
	waits := func(edges []edge) []edge {
		for i, e := range edges {
			edges[i].tell = func(s *story) { e.tell(s); s.attempt("c2", 20, 3000, history.TypeFail) }
		}
		return edges
	}
	requireEdges(t, DeadlockFreedom, waits([]edge{
		{"it was in reach", func(s *story) { left(s); held(s); failed(s) }, "ReleaseEverywhere", "n2, which it could reach all the time"},
		{"a fault was there too, once", func(s *story) {
			left(s)
			held(s)
			failed(s)
			s.lasting(100, 110, "cut", "c1-n2")
			s.lasting(100, 110, "pause", "n3")
		}, ReleaseArrives, ""},
		{"its client was stopped, once", func(s *story) { left(s); held(s); failed(s); s.lasting(100, 110, "pause", "c1") },
			ReleaseArrives, ""},
		{"a release came there", func(s *story) {
			left(s)
			held(s)
			failed(s)
			for _, node := range []string{"n2", "n3"} {
				s.add(20, history.Event{Process: "c1>" + node, Type: history.TypeCommand,
					Command: &history.Command{Serial: 900, Name: "EVAL", Key: "k1", Token: "t1", Effect: history.EffectDelete}})
			}
		}, ReleaseArrives, ""},
		{"it was that of a lease which was given back", func(s *story) {
			left(s)
			held(s)
			lease := s.op(0, 10, history.TypeOK, history.Event{Process: "c1", Op: history.OpAcquire, Key: "k1", Token: "t1", Validity: 900 * ms})
			s.release("c1", lease, 12, 14, history.TypeOK)
		}, ReleaseArrives, ""},
		{"its attempt went on", func(s *story) { left(s); held(s); s.attempt("c1", 0, 2700, history.TypeFail) }, Unexplained, ""},
		{"a fault was there until the keys were", cut(1, 5), "ReleaseEverywhere", "which it could reach all the time"},
		{"a little longer", cut(1, 6), ReleaseArrives, ""},
		{"a fault was there before the keys were gone", cut(2504, 2600), ReleaseArrives, ""},
		{"as they were gone", cut(2505, 2600), "ReleaseEverywhere", "which it could reach all the time"},
	}))
}

// The blame rests on the key that was left in reach: take it away, and the fault is to blame.
func TestAnAttemptThatGaveNothingBackIsShownByAnotherKey(t *testing.T) {
	s := tale()
	s.sets(5, "c1", "t1", 2500, "n1", "n2", "n3")
	s.lasting(1, 40, "cut", "c1-n1")
	s.attempt("c1", 0, 10, history.TypeFail)
	s.attempt("c2", 20, 3000, history.TypeFail)
	require.Equal(t, "ReleaseEverywhere", s.judged(t, DeadlockFreedom).Violations[0].Blame.Broke)
	s.requirePremises(t, DeadlockFreedom)
}
