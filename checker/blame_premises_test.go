package checker

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
)

// requirePremises takes the events that the first violation's blame cites out of the
// story, one at a time: each time there is no such blame any more, it tells something
// else, or it rests on something else.
func (s *story) requirePremises(t *testing.T, property string) {
	t.Helper()
	events := s.end(0)
	blamed := func(events []history.Event) *Blame {
		verdict, err := check(events)
		if err != nil {
			return nil
		}
		if r := verdict.Of(property); r.Verdict == history.Violated {
			return r.Violations[0].Blame
		}
		return nil
	}
	blame := blamed(events)
	require.NotNil(t, blame)
	for _, premise := range blame.Events {
		without := blamed(slices.Delete(slices.Clone(events), premise, premise+1))
		if without == nil || without.Broke != blame.Broke || without.Time != blame.Time || without.Why != blame.Why {
			continue
		}
		var others []int // that it rests on, as they were numbered before
		for _, i := range blame.Events {
			switch {
			case i < premise:
				others = append(others, i)
			case i > premise:
				others = append(others, i-1)
			}
		}
		require.NotEqual(t, others, without.Events, "without event %d (%s of %s at %d) the blame is the same: %v", premise,
			events[premise].Type, events[premise].Process, events[premise].Time, blame.Events)
	}
}

// requireCited compares how many events of a type a blame cites.
func requireCited(t *testing.T, events []history.Event, blame *Blame, want map[history.Type]int) {
	t.Helper()
	cited := map[history.Type]int{}
	for _, i := range blame.Events {
		cited[events[i].Type]++
	}
	require.Equal(t, want, cited, blame.Why)
}

// A loss that made an overlap inevitable cites the losses before it, what was lost,
// and who got it.
func TestBlameCitesEachLoss(t *testing.T) {
	s := tale()
	s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3", "n4", "n5")
	s.grant("c1", 0, 10, 980)
	for i, node := range []string{"n3", "n4", "n5"} {
		s.instant(int64(100+100*i), "kill", node)
		s.look(int64(151+100*i), node, "r2 of "+node, "", 0)
	}
	s.sets(500, "c2", "c2.1", 1000, "n3", "n4", "n5")
	s.grant("c2", 490, 510, 900)
	blame := s.requireBlame(t, MutualExclusion, NodesRemember, 300)
	requireCited(t, s.end(0), blame, map[history.Type]int{history.TypeFault: 3, history.TypeReply: 6, history.TypeOK: 2})
	s.requirePremises(t, MutualExclusion)
}

// A stale write cites the fault, the lease that was over, and both writes.
func TestBlameCitesBothWrites(t *testing.T) {
	s := tale()
	s.grant("c1", 0, 10, 900)
	s.lasting(40, 1500, "pause", "c1")
	s.grant("c2", 1000, 1010, 900)
	s.write("c2", 1, 1020, 1030, history.TypeOK, "", "v1", 0)
	s.write("c1", 1, 1510, 1520, history.TypeOK, "", "v2", 0)
	blame := s.requireBlame(t, ProtectedData, HolderStops, 40)
	requireCited(t, s.end(0), blame, map[history.Type]int{history.TypeFault: 1, history.TypeOK: 3})
	s.requirePremises(t, ProtectedData)
}
