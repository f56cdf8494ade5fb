package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// inSetup is a fault in the background.
func (s *story) inSetup(kind, link string) {
	s.faults++
	s.add(0, history.Event{Process: "nemesis", Type: history.TypeFault, Fault: &history.Fault{ID: s.faults, Kind: kind,
		Phase: history.PhaseBegin, Targets: []string{link}, Effective: true, Background: true}})
}

func (s *story) cutInSetup(link string) { s.inSetup("cut", link) }

// cutInSetupSent cuts a link in the background to the end, with messages sent into it at these times.
func (s *story) cutInSetupSent(link string, times ...int64) {
	sent := len(times)
	end := s.during(0, 9000, history.Fault{Kind: "cut", Targets: []string{link}, Background: true})
	end.Affected = &sent
	for _, t := range times {
		end.SentAt = append(end.SentAt, t*ms)
	}
}

// A lock that waits for a node that the background cuts off violates the property only if the scenario is about that,
// or if something else is wrong.
func TestNeedsAllNodes_WaitForCutNode_IsUndecided(t *testing.T) {
	undecided := map[string]string{MutualExclusion: history.Inconclusive, DeadlockFreedom: history.Inconclusive,
		FaultTolerance: history.Inconclusive}
	tests := []struct {
		name string
		tell func(s *story)
		want map[string]string
	}{
		{"in a scenario about mutual exclusion", func(s *story) { s.cutInSetup("c1-n4") }, undecided},
		{"when it takes its keys and when it gives them back", func(s *story) {
			s.cutInSetup("c1-n4")
			s.deletes(2005, "c1", "c1.1", "n1", "n2", "n3", "n5")
		}, undecided},
		{"in one about fault tolerance", func(s *story) {
			s.cutInSetup("c1-n4")
			s.header.Expect[FaultTolerance] = history.Holds
		}, map[string]string{FaultTolerance: history.Violated, DeadlockFreedom: history.Inconclusive}},
		{"by a step of the script", func(s *story) { s.lasting(5, 5000, "cut", "c1-n4") },
			map[string]string{FaultTolerance: history.Violated, DeadlockFreedom: history.Violated}},
		{"where that is expected", func(s *story) {
			s.cutInSetup("c1-n4")
			s.header.Expect[FaultTolerance], s.header.Expect[DeadlockFreedom] = history.Violated, history.Violated
		}, map[string]string{FaultTolerance: history.Violated, DeadlockFreedom: history.Violated}},
		{"beside two that hold the lock at once", func(s *story) {
			s.cutInSetup("c1-n4")
			s.grant("c2", 3000, 3010, 900)
			s.grant("c3", 3000, 3020, 900)
		}, map[string]string{MutualExclusion: history.Violated, FaultTolerance: history.Inconclusive}},
		{"though nobody waits for it", func(s *story) {
			s.cutInSetup("c1-n4")
			s.refusedAgain("c1", "x", "nil", 100, 4000, majority...)
		}, map[string]string{FaultTolerance: history.Violated, DeadlockFreedom: history.Violated}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			s.header.Expect[MutualExclusion] = history.Holds
			s.sets(11, "c1", "c1.1", 10000, "n1", "n2", "n3", "n5")
			s.attempt("c1", 10, 4000, history.TypeFail)
			test.tell(s)
			s.add(5000, history.Event{Type: history.TypeNote})
			for property, want := range test.want {
				r := s.requireVerdict(t, property, want, "")
				require.Equal(t, want == history.Inconclusive, r.Cause == NeedsAllNodes)
			}
		})
	}
}

// A lock that contacts one node after another waits for the first, which the background cuts off, and contacts no
// other. Its message into the cut link, the time of that message, and the silence afterwards show it. All three are
// necessary.
func TestNeedsAllNodes_WaitForFirstNode_IsUndecided(t *testing.T) {
	const violated, inconclusive = history.Violated, history.Inconclusive
	tests := []storyCase{
		{"the first node hangs", func(s *story) { s.cutInSetupSent("c1-n1", 11) }, inconclusive, reasonCutNode},
		{"the third does", func(s *story) {
			s.refused(11, "c1", "x", "nil", "n1", "n2")
			s.cutInSetupSent("c1-n3", 12)
		}, inconclusive, reasonCutNode},
		{"a majority had answered before", func(s *story) {
			s.refused(5, "c1", "x", "nil", "n2", "n3", "n4")
			s.cutInSetupSent("c1-n1")
		}, violated, ""},
		{"it was sent nothing", func(s *story) { s.cutInSetupSent("c1-n1") }, violated, ""},
		{"a majority answered before its excuse ended", func(s *story) {
			s.cutInSetupSent("c1-n4", 11)
			s.lasting(5, 1000, "cut", links("c1")...)
			s.silent(11, "c1", "x", majority...)(990, "nil", false)
		}, inconclusive, reasonCutNode},
		{"it was sent something before", func(s *story) { s.cutInSetupSent("c1-n1", 5) }, violated, ""},
		{"it was sent something in the end", func(s *story) { s.cutInSetupSent("c1-n1", 3990) }, violated, ""},
		{"it is another's link", func(s *story) { s.cutInSetupSent("c2-n1", 11) }, violated, ""},
		{"it is cut by a step of the script", func(s *story) {
			s.cutInSetupSent("c1-n1", 11)
			for i := range s.events {
				if f := s.events[i].Fault; f != nil {
					f.Background = false
				}
			}
		}, violated, ""},
		{"others are asked after it", func(s *story) {
			s.cutInSetupSent("c1-n1", 11)
			s.refusedAgain("c1", "x", "nil", 100, 4000, "n2")
		}, violated, ""},
		{"others are asked beside it", func(s *story) {
			s.cutInSetupSent("c1-n1", 11)
			s.silent(10, "c1", "x", "n2")(12, "nil", false)
		}, violated, ""},
		{"it is not known when it was sent something", func(s *story) { s.cutInSetup("c1-n1") }, inconclusive, reasonCutNode},
		{"nor that, but others are asked", func(s *story) {
			s.cutInSetup("c1-n1")
			s.refusedAgain("c1", "x", "nil", 100, 4000, "n2")
		}, violated, ""},
	}
	for _, property := range []string{FaultTolerance, DeadlockFreedom} {
		requireVerdicts(t, property, tests, func(s *story) {
			s.header.Expect[MutualExclusion] = history.Holds
			s.refused(1, "c2", "x", "nil", s.header.Nodes...) // the lock uses all of them
			s.attempt("c1", 10, 4000, history.TypeFail)
			s.add(5000, history.Event{Type: history.TypeNote})
		})
	}
}

func TestNeedsAllNodes_ReleaseWaitsForCutNode_OtherResultsStand(t *testing.T) {
	s := newStory()
	s.header.Expect[MutualExclusion] = history.Holds
	s.header.Bounds.Release = 500 * ms
	s.cutInSetupSent("c1-n4")
	s.sets(11, "c1", "c1.1", 10000, majority...)
	id := s.grant("c1", 10, 20, 900)
	s.deletes(101, "c1", "c1.1", majority...)
	s.release("c1", id, 100, 1000, history.TypeOK)
	s.sets(1101, "c2", "c2.1", 1000, majority...)
	s.grant("c2", 1100, 1110, 900)
	s.requireVerdict(t, FaultTolerance, history.Inconclusive, reasonCutNodeAtRelease)
	s.requireVerdict(t, MutualExclusion, history.Holds, "")
	s.requireVerdict(t, DeadlockFreedom, history.Holds, "")
}

// A grant that such a wait prevents is reported so, even if no bound is narrow enough to show it.
func TestNeedsAllNodes_GrantMissing_IsUndecided(t *testing.T) {
	requireVerdicts(t, MutualExclusion, []storyCase{
		{"it waited for a node", func(*story) {}, history.Inconclusive, reasonCutNode},
		{"the grant is not missing", func(s *story) { s.header.Earned.Grants = 1 }, history.Holds, ""},
		{"another held the lock", func(s *story) { s.grant("c3", 100, 110, 900) }, history.Inconclusive, "vacuous"},
		{"it waited for a TTL alone", func(s *story) { s.header.TTL = 3990 * ms }, history.Inconclusive, "vacuous"},
		{"it asked others", func(s *story) { s.refusedAgain("c1", "x", "nil", 100, 4000, majority...) },
			history.Inconclusive, "vacuous"},
	}, func(s *story) {
		s.header.Expect[MutualExclusion] = history.Holds
		s.header.Bounds.Grant, s.header.Bounds.Free = 10000*ms, 10000*ms
		s.header.Earned.Grants = 3
		s.cutInSetupSent("c1-n4", 11)
		s.sets(11, "c1", "c1.1", 1000, majority...)
		s.attempt("c1", 10, 4000, history.TypeFail)
		s.grant("c2", 5000, 5010, 900)
	})
}
