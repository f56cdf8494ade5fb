package checker

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// A verdict is earned if the fault affects an existing key, or a client with a request or a lease.
func TestFaultImpact(t *testing.T) {
	holds := func(s *story, nodes ...string) {
		s.sets(5, "c1", "c1.1", 1000, append(nodes, "n1", "n2", "n3")...)
		s.command(5, "c1>n4", history.Command{Name: "GET", Key: "k1", Effect: history.EffectRead})
		s.grant("c1", 0, 10, 900)
	}
	released := func(s *story, nodes ...string) {
		holds(s, nodes...)
		s.release("c1", 1, 500, 510, history.TypeOK)
	}
	crash := func(s *story, at int64) {
		s.instant(at, "kill", "n4")
		s.instant(at+10, "start", "n4")
	}
	for name, c := range map[string]struct {
		tell func(s *story, at int64)
		at   map[int64]bool // whether a fault at that time has an impact
	}{
		"a node is paused, whatever messages were counted": {func(s *story, at int64) {
			released(s)
			s.counted(at, at+50, 1, history.Fault{Kind: "pause", Targets: []string{"n4"}})
		}, map[int64]bool{100: true, 1000: false}},
		"a node dies that the setting keeps from the only client, until it is healed": {func(s *story, healed int64) {
			s.header.Clients = s.header.Clients[:1]
			s.during(0, healed, history.Fault{Kind: "cut", Targets: []string{"c1-n4"}, Background: true})
			holds(s)
			crash(s, 100)
		}, map[int64]bool{9: true, 10: false}},
		"a key arrives; what comes when the last operation is done is cleared away": {func(s *story, arrived int64) {
			released(s)
			s.sets(arrived, "c1", "c1.1", 1000, "n4")
			s.instant(600, "clock", "n4")
		}, map[int64]bool{510: true, 511: false}},
		"a node's clock jumps; what begins after that is timed right": {func(s *story, at int64) {
			s.setClocks(at, at+5000, 1, "n4")
			released(s, "n4")
		}, map[int64]bool{2: false, 300: true}},
		"a node's clock runs wrong, until it is put right": {func(s *story, until int64) {
			s.setClocks(2, 2, 0.5, "n4")
			s.setClocks(until, 2+(until-2)/2, 1, "n4")
			released(s, "n4")
		}, map[int64]bool{4: false, 300: true}},
		"a node's clock is set to the time that it has": {func(s *story, at int64) {
			s.setClocks(at, at, 1, "n4")
			released(s, "n4")
		}, map[int64]bool{300: false}},
		"a node's clock jumps, and nothing tells how far": {func(s *story, at int64) {
			s.instant(at, "clock", "n4")
			released(s, "n4")
		}, map[int64]bool{2: true}},
		"a client's wall clock jumps before it asks, while it asks or believes, and after": {func(s *story, at int64) {
			s.instant(at, "clock", "c1")
			s.clock(at, "c1", at, 1, false)
			s.clock(at, "c1", at-700, 1, true)
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			s.grant("c1", 5, 10, 900)
		}, map[int64]bool{2: false, 7: true, 300: true, 950: false}},
		"a node dies that its client's lock is given; while it is at the store, it asks no node": {func(s *story, at int64) {
			s.header.Clients = s.header.Clients[:1]
			holds(s)
			s.read("c1", 1, 1150, 1250, "", 0)
			crash(s, at)
		}, map[int64]bool{100: true, 1200: false}},
		"a node dies that its client's lock is not given": {func(s *story, at int64) {
			s.header.Clients, s.header.ConfiguredNodes = s.header.Clients[:1], map[string][]string{"c1": {"n1", "n2", "n3"}}
			holds(s)
			crash(s, at)
		}, map[int64]bool{100: false}},
		"memory is full": {func(s *story, at int64) { holds(s); s.lasting(at, at+50, "fill", "n4") },
			map[int64]bool{100: true, 1200: false}},
		"a node rewrites its file": {func(s *story, at int64) { holds(s); s.lasting(at, at+50, "rewrite", "n4") },
			map[int64]bool{100: true, 1200: false}},
		"a server that the header does not name dies": {func(s *story, at int64) { holds(s); s.instant(at, "kill", "n9") },
			map[int64]bool{100: false}},
		"a replica is promoted": {func(s *story, at int64) {
			s.header.Replicas = map[string]string{"r1": "n1"}
			holds(s)
			s.instant(at, "promote", "r1")
		}, map[int64]bool{100: true, 1200: false}},
	} {
		for at, met := range c.at {
			t.Run(fmt.Sprintf("%s: at %d", name, at), func(t *testing.T) {
				s := newStory()
				c.tell(s, at)
				require.Equal(t, met, s.judged(t, MutualExclusion).Verdict == history.Holds)
			})
		}
	}
}

func TestFaultEnd_Impact_AppliesToAllTargets(t *testing.T) {
	s := newStory()
	s.counted(1000, 1200, 3, history.Fault{Kind: "cut", Targets: []string{"c1-n1", "c1-n2"}})
	for _, f := range s.history(t, 0).record.faults {
		require.NotNil(t, f.impact, f.target)
		require.Equal(t, 3, *f.impact)
	}
}
