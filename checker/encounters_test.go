package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
)

// A pause of a node is judged by who asked meanwhile, also where its messages were counted.
func TestAPauseMeetsWhoIsAtWork(t *testing.T) {
	for from, holds := range map[int64]bool{100: true, 1000: false} {
		s, met := tale(), 1
		s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
		s.release("c1", s.grant("c1", 0, 10, 900), 500, 510, history.TypeOK)
		for _, phase := range []history.Phase{history.PhaseBegin, history.PhaseEnd} {
			f := history.Fault{ID: 1, Kind: "pause", Phase: phase, Targets: []string{"n4"}, Effective: true}
			if phase == history.PhaseEnd {
				f.Met = &met
				from += 50
			}
			s.add(from, history.Event{Process: "nemesis", Type: history.TypeFault, Fault: &f})
		}
		require.Equal(t, holds, s.judged(t, MutualExclusion).Verdict == history.Holds)
	}
}

// A node that the setting keeps from the only client meets nobody as it dies; a cut that is healed when all is done was there
// to the end.
func TestADeathMeetsWhoReachesTheNode(t *testing.T) {
	for healed, holds := range map[int64]bool{9: true, 10: false, 11: false, 0: false} {
		s := tale()
		s.header.Clients = s.header.Clients[:1]
		s.far("c1-n4")
		if healed > 0 {
			s.add(healed, history.Event{Process: "nemesis", Type: history.TypeFault, Fault: &history.Fault{ID: s.faults, Kind: "cut",
				Phase: history.PhaseEnd, Targets: []string{"c1-n4"}, Effective: true, Setting: true}})
		}
		s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
		s.grant("c1", 0, 10, 900)
		s.instant(100, "kill", "n4")
		s.instant(110, "start", "n4")
		require.Equal(t, holds, s.judged(t, MutualExclusion).Verdict == history.Holds, healed)
	}
}

// A key that arrives as the last operation is done is there for a fault to meet; what arrives later is cleared away.
func TestAKeyCountsThatArrivesBeforeAllIsDone(t *testing.T) {
	for arrived, holds := range map[int64]bool{510: true, 511: false} {
		s := tale()
		s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
		s.release("c1", s.grant("c1", 0, 10, 900), 500, 510, history.TypeOK)
		s.sets(arrived, "c1", "c1.1", 1000, "n4")
		s.instant(600, "clock", "n4")
		require.Equal(t, holds, s.judged(t, MutualExclusion).Verdict == history.Holds, arrived)
	}
}
