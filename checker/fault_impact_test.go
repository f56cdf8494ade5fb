package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// A pause of a node is judged by who asked meanwhile, also where its messages were counted.
func TestFaultImpact_PauseDuringOperation(t *testing.T) {
	for from, holds := range map[int64]bool{100: true, 1000: false} {
		s := tale()
		s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
		s.release("c1", s.grant("c1", 0, 10, 900), 500, 510, history.TypeOK)
		s.counted(from, from+50, 1, history.Fault{Kind: "pause", Targets: []string{"n4"}})
		require.Equal(t, holds, s.judged(t, MutualExclusion).Verdict == history.Holds)
	}
}

// A node that the setting keeps from the only client meets nobody as it dies; a cut that is healed when all is done was there
// to the end.
func TestFaultImpact_CrashOfReachableNode(t *testing.T) {
	for healed, holds := range map[int64]bool{9: true, 10: false, 11: false, 0: false} {
		s := tale()
		s.header.Clients = s.header.Clients[:1]
		s.far("c1-n4")
		if healed > 0 {
			s.add(healed, history.Event{Process: "nemesis", Type: history.TypeFault, Fault: &history.Fault{ID: s.faults, Kind: "cut",
				Phase: history.PhaseEnd, Targets: []string{"c1-n4"}, Effective: true, Background: true}})
		}
		s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
		s.grant("c1", 0, 10, 900)
		s.instant(100, "kill", "n4")
		s.instant(110, "start", "n4")
		require.Equal(t, holds, s.judged(t, MutualExclusion).Verdict == history.Holds, healed)
	}
}

// A key that arrives as the last operation is done is there for a fault to meet; what arrives later is cleared away.
func TestFaultImpact_KeyBeforeLastOperation(t *testing.T) {
	for arrived, holds := range map[int64]bool{510: true, 511: false} {
		s := tale()
		s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
		s.release("c1", s.grant("c1", 0, 10, 900), 500, 510, history.TypeOK)
		s.sets(arrived, "c1", "c1.1", 1000, "n4")
		s.instant(600, "clock", "n4")
		require.Equal(t, holds, s.judged(t, MutualExclusion).Verdict == history.Holds, arrived)
	}
}

// A clock that jumps is wrong for what is timed across the jump, and one that runs wrong for as long as it does. What begins
// after a jump is timed right.
func TestFaultImpact_ClockOfTimedKey(t *testing.T) {
	jump := func(at int64) func(*story) {
		return func(s *story) { s.instant(at, "clock", "n4"); s.clock(at, "n4", at+5000, 1, true) }
	}
	runs := func(rate float64, from, until int64) func(*story) {
		return func(s *story) {
			s.instant(from, "clock", "n4")
			s.clock(from, "n4", from, rate, true)
			s.instant(until, "clock", "n4")
			s.clock(until, "n4", from+int64(float64(until-from)*rate), 1, true)
		}
	}
	for name, c := range map[string]struct {
		how   func(*story)
		holds bool
	}{
		"a jump before the key":               {jump(2), false},
		"a jump while the key is there":       {jump(300), true},
		"a jump after the key":                {jump(1100), false},
		"no jump, and the true rate":          {func(s *story) { s.instant(300, "clock", "n4"); s.clock(300, "n4", 300, 1, true) }, false},
		"a wrong rate until the key is there": {runs(0.5, 2, 300), true},
		"a wrong rate, put right before":      {runs(0.5, 2, 4), false},
		"a jump that nothing tells of":        {func(s *story) { s.instant(2, "clock", "n4") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := tale()
			c.how(s)
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3", "n4")
			s.release("c1", s.grant("c1", 0, 10, 900), 500, 510, history.TypeOK)
			require.Equal(t, c.holds, s.judged(t, MutualExclusion).Verdict == history.Holds)
		})
	}
}

// A client's wall clock that jumped before it asked misleads it in nothing; while it asks, or believes, it does.
func TestFaultImpact_ClientClock(t *testing.T) {
	for at, holds := range map[int64]bool{2: false, 7: true, 300: true, 950: false} {
		s := tale()
		s.instant(at, "clock", "c1")
		s.clock(at, "c1", at, 1, false)
		s.clock(at, "c1", at-700, 1, true)
		s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
		s.grant("c1", 5, 10, 900)
		require.Equal(t, holds, s.judged(t, MutualExclusion).Verdict == history.Holds, at)
	}
}

// What befalls a node meets no client whose lock is not given that node, and none that is at the store.
func TestFaultImpact_CrashOfConfiguredNode(t *testing.T) {
	lists := map[string][]string{"c1": {"n1", "n2", "n3"}}
	for name, c := range map[string]struct {
		lists map[string][]string
		at    int64
		holds bool
	}{
		"all nodes":              {nil, 100, true},
		"three of them":          {lists, 100, false},
		"three, and this is one": {map[string][]string{"c1": {"n1", "n2", "n4"}}, 100, true},
		"all, and it reads":      {nil, 1200, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := tale()
			s.header.Clients, s.header.ConfiguredNodes = s.header.Clients[:1], c.lists
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			lease := s.grant("c1", 0, 10, 900)
			s.read("c1", lease, 1150, 1250, "", 0)
			s.instant(c.at, "kill", "n4")
			s.instant(c.at+10, "start", "n4")
			require.Equal(t, c.holds, s.judged(t, MutualExclusion).Verdict == history.Holds)
		})
	}
}

// Memory that is full, a rewrite, and a replica's promotion meet a key or who asks.
func TestFaultImpact_UncountedFaults(t *testing.T) {
	for kind, target := range map[string]string{"fill": "n4", "rewrite": "n4", "promote": "r1"} {
		for at, holds := range map[int64]bool{100: true, 1200: false} {
			s := tale()
			s.header.Replicas = map[string]string{"r1": "n1"}
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			s.grant("c1", 0, 10, 900)
			if kind == "promote" {
				s.instant(at, kind, target)
			} else {
				s.lasting(at, at+50, kind, target)
			}
			require.Equal(t, holds, s.judged(t, MutualExclusion).Verdict == history.Holds, "%s at %d", kind, at)
		}
	}
}
