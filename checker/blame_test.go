package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
)

// shared is the schedule of most catalogue rows: c1 locks n1 n2 n3, something
// happens to n3, c2 locks n3 n4 n5.
func shared(s *story, happens func()) {
	s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
	s.grant("c1", 0, 10, 980)
	happens()
	s.sets(295, "c2", "c2.1", 1000, "n3", "n4", "n5")
	s.grant("c2", 290, 300, 980)
}

func TestBlameOfOverlaps(t *testing.T) {
	tests := []struct {
		name  string
		rules []string
		tell  func(*story)
		broke string
		time  int64
	}{
		{"a restart without persistence", nil, func(s *story) {
			shared(s, func() { s.instant(100, "kill", "n3"); s.instant(110, "start", "n3"); s.look(111, "n3", "r2", "", 0) })
		}, NodesRemember, 100},
		{"a flush", nil, func(s *story) {
			shared(s, func() { s.instant(100, "flush", "n3") })
		}, NodesRemember, 100},
		{"a restart that remembers, and a loss later", nil, func(s *story) {
			shared(s, func() {
				s.instant(100, "kill", "n3")
				s.instant(110, "start", "n3")
				s.look(111, "n3", "r2", "c1.1", 890)
			})
		}, NothingRemoves, 295},
		{"an eviction", nil, func(s *story) { shared(s, func() { s.lasting(100, 900, "fill", "n3") }) }, NothingEvicts, 100},
		{"a loss without a trace", nil, func(s *story) { shared(s, func() {}) }, NothingRemoves, 295},
		{"a clock jump", nil, func(s *story) {
			shared(s, func() { s.clock(100, "n3", 2000, 1, true) })
		}, ClocksAgree, 100},
		{"a loss, and a delete of another token", nil, func(s *story) {
			shared(s, func() {
				s.add(100, history.Event{Process: "c3>n3", Type: history.TypeCommand, Command: &history.Command{Serial: 900, Name: "EVAL",
					Key: "k1", Token: "c3.9", Effect: history.EffectDelete}})
			})
		}, NothingRemoves, 295},
		{"a plain DEL by another", []string{"CompareAndDelete"}, func(s *story) {
			shared(s, func() { s.deletes(100, "c3", "", "n3") })
		}, "CompareAndDelete", 100},
		{"a late plain DEL of its own", []string{"CompareAndDelete"}, func(s *story) {
			shared(s, func() { s.deletes(100, "c1", "", "n3") })
		}, "CompareAndDelete", 100},
		{"a late release with the lease's token", []string{"FreshToken"}, func(s *story) {
			shared(s, func() { s.deletes(100, "c1", "c1.1", "n3") })
		}, "FreshToken", 100},
		{"one token for two", []string{"FreshToken"}, func(s *story) {
			for _, client := range []string{"c1", "c2"} {
				s.op(0, 10, history.TypeOK, history.Event{Process: client, Op: history.OpAcquire, Key: "k1", Token: "t", Validity: ms})
			}
		}, "FreshToken", 10},
		{"no majority", []string{"Majority"}, func(s *story) {
			s.header.Nodes = s.header.Nodes[:4]
			s.lasting(0, 500, "cut", "c1-n3", "c1-n4", "c2-n1", "c2-n2")
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2")
			s.grant("c1", 0, 10, 980)
			s.sets(15, "c2", "c2.1", 1000, "n3", "n4")
			s.grant("c2", 10, 20, 980)
		}, "Majority", 20},
		{"no majority, and a key that had expired", []string{"Majority"}, func(s *story) {
			s.lasting(900, 1500, "cut", "c2-n1", "c2-n2", "c2-n4", "c2-n5")
			s.clock(1, "c1", 1, 0.995, false)
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			id := s.grant("c1", 0, 10, 980)
			s.extends(900, "c1", "c1.1", 1000, "n1", "n2", "n4", "n5")
			s.extend("c1", id, 895, 905, 980)
			s.sets(1110, "c2", "c2.1", 1000, "n3")
			s.grant("c2", 1100, 1120, 980)
		}, "Majority", 1120},
		{"different nodes", nil, func(s *story) {
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2")
			s.grant("c1", 0, 10, 980)
			s.sets(15, "c2", "c2.1", 1000, "n4", "n5")
			s.grant("c2", 10, 20, 980)
		}, SameNodes, 20},
		{"one server under two names", []string{"DistinctNodes"}, func(s *story) {
			for i, id := range []string{"r1", "r1", "r3", "r4", "r5"} {
				s.look(0, s.header.Nodes[i], id, "", 0)
			}
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			s.grant("c1", 0, 10, 980)
			s.instant(50, "kill", "n1", "n2")
			s.sets(75, "c2", "c2.1", 1000, "n1", "n2", "n4")
			s.grant("c2", 70, 80, 980)
		}, "DistinctNodes", 5},
		{"one server under two names, addressed by one", []string{"DistinctNodes"}, func(s *story) {
			s.header.Nodes = s.header.Nodes[:3]
			for i, id := range []string{"r1", "r1", "r3"} {
				s.look(0, s.header.Nodes[i], id, "", 0)
			}
			s.sets(5, "c1", "c1.1", 1000, "n1", "n3")
			s.grant("c1", 0, 10, 980)
			s.instant(50, "kill", "n1")
			s.sets(75, "c2", "c2.1", 1000, "n1")
			s.grant("c2", 70, 80, 980)
		}, "DistinctNodes", 75},
		{"replies that were held", []string{"ElapsedCheck"}, func(s *story) {
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			s.sets(1050, "c2", "c2.1", 1000, "n3", "n4", "n5")
			s.grant("c2", 1040, 1060, 980)
			s.grant("c1", 0, 1100, 990)
		}, "ElapsedCheck", 1100},
		{"an extension whose replies were held", []string{"ElapsedCheck"}, func(s *story) {
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			id := s.grant("c1", 0, 10, 980)
			s.extends(500, "c1", "c1.1", 1000, "n1", "n2", "n3")
			s.sets(1510, "c2", "c2.1", 1000, "n3", "n4", "n5")
			s.grant("c2", 1505, 1520, 980)
			s.extend("c1", id, 495, 1600, 980)
		}, "ElapsedCheck", 1600},
		{"an extension on a minority", []string{"ExtendMajority"}, func(s *story) {
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			id := s.grant("c1", 0, 10, 980)
			s.extends(500, "c1", "c1.1", 1000, "n1", "n2")
			s.extend("c1", id, 495, 510, 980)
			s.sets(1010, "c2", "c2.1", 1000, "n3", "n4", "n5")
			s.grant("c2", 1006, 1020, 980)
		}, "ExtendMajority", 510},
		{"an extension of another's key", []string{"ExtendOwnership"}, func(s *story) {
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			id := s.grant("c1", 0, 10, 980)
			s.sets(1105, "c2", "c2.1", 1000, "n1", "n2", "n3")
			s.grant("c2", 1100, 1110, 980)
			s.extends(1200, "c1", "", 1000, "n1", "n2", "n3")
			s.extend("c1", id, 1195, 1210, 980)
		}, "ExtendOwnership", 1200},
		{"nodes that run fast", nil, func(s *story) {
			for _, n := range s.header.Nodes {
				s.clock(1, n, 1, 1.25, true)
			}
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			s.grant("c1", 0, 10, 980)
			s.sets(810, "c2", "c2.1", 1000, "n3", "n4", "n5")
			s.grant("c2", 806, 820, 780)
		}, ClocksAgree, 1},
		{"a client that runs slow", nil, func(s *story) {
			s.clock(1, "c1", 1, 0.8, false)
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			s.grant("c1", 0, 10, 980)
			s.sets(1010, "c2", "c2.1", 1000, "n3", "n4", "n5")
			s.grant("c2", 1006, 1020, 980)
		}, ClocksAgree, 1},
		{"a drift that the margin covers", []string{"DriftMargin"}, func(s *story) {
			for _, n := range s.header.Nodes {
				s.clock(1, n, 1, 1.005, true)
			}
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			s.grant("c1", 0, 6, 999)
			s.sets(1001, "c2", "c2.1", 1000, "n3", "n4", "n5")
			s.grant("c2", 1000, 1002, 999)
		}, "DriftMargin", 6},
		{"a wall clock put back", []string{"MonotonicClock"}, func(s *story) {
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			s.clock(500, "c1", -500, 1, true)
			s.op(0, 600, history.TypeOK, history.Event{Process: "c1", Op: history.OpAcquire, Key: "k1", Token: "c1.1",
				Validity: 1380 * ms, Wall: true})
			s.sets(1010, "c2", "c2.1", 1000, "n3", "n4", "n5")
			s.grant("c2", 1006, 1020, 980)
		}, "MonotonicClock", 500},
		{"belief beyond the key's life", nil, func(s *story) {
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			s.grant("c1", 4, 6, 1010)
			s.sets(1007, "c2", "c2.1", 1000, "n3", "n4", "n5")
			s.grant("c2", 1006, 1010, 980)
		}, "DriftMargin", 6},
		{"belief beyond what a margin covers", nil, func(s *story) {
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			s.grant("c1", 4, 6, 1100)
			s.sets(1010, "c2", "c2.1", 1000, "n3", "n4", "n5")
			s.grant("c2", 1006, 1020, 980)
		}, Unexplained, 6},
		{"a drift, and slow answers that were not counted", []string{"ElapsedCheck"}, func(s *story) {
			for _, n := range s.header.Nodes {
				s.clock(1, n, 1, 1.005, true)
			}
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			s.grant("c1", 0, 200, 988)
			s.sets(1010, "c2", "c2.1", 1000, "n3", "n4", "n5")
			s.grant("c2", 1005, 1020, 980)
		}, "ElapsedCheck", 200},
		{"no keys in the history", nil, func(s *story) {
			s.grant("c1", 0, 10, 980)
			s.grant("c2", 0, 20, 980)
		}, Unexplained, 20},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := tale()
			s.header.Without = test.rules
			test.tell(s)
			blame := s.requireBlame(t, MutualExclusion, test.broke, test.time)
			s.requirePremises(t, MutualExclusion)
			if len(test.rules) > 0 {
				require.Contains(t, blame.Why, "the rule "+test.broke+" was switched off")
				s.header.Without = nil // another lock: the same evidence
				blame = s.requireBlame(t, MutualExclusion, test.broke, test.time)
			}
			require.NotContains(t, blame.Why, "switched off")
		})
	}
}

// A lock that needs no majority needs none for an extension either; and one that asks a
// single node of five has never claimed any.
func TestBlameOfTooFewNodes(t *testing.T) {
	extended := func(s *story) {
		s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
		id := s.grant("c1", 0, 10, 980)
		s.extends(500, "c1", "c1.1", 1000, "n1", "n2")
		s.extend("c1", id, 495, 510, 980)
		s.sets(1010, "c2", "c2.1", 1000, "n3", "n4", "n5")
		s.grant("c2", 1006, 1020, 980)
	}
	for _, test := range []struct {
		off   []string
		broke string
	}{{[]string{"Majority"}, "Majority"}, {[]string{"Majority", "ExtendMajority"}, "ExtendMajority"}} {
		s := tale()
		s.header.Without = test.off
		extended(s)
		s.requireBlame(t, MutualExclusion, test.broke, 510)
	}
	s := tale()
	s.sets(5, "c1", "c1.1", 1000, "n1")
	s.grant("c1", 0, 10, 980)
	s.instant(100, "flush", "n1")
	s.sets(295, "c2", "c2.1", 1000, "n1")
	s.grant("c2", 290, 300, 980)
	s.requireBlame(t, MutualExclusion, NodesRemember, 100)
}

// With five nodes locked, two may forget; the third loss makes it inevitable.
func TestBlameTheLossThatMattered(t *testing.T) {
	s := tale()
	s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3", "n4", "n5")
	s.grant("c1", 0, 10, 980)
	for i, node := range []string{"n3", "n4", "n5"} {
		s.instant(int64(100+100*i), "kill", node)
		s.instant(int64(150+100*i), "start", node)
		s.look(int64(151+100*i), node, "r2 of "+node, "", 0)
	}
	s.sets(500, "c2", "c2.1", 1000, "n3", "n4", "n5")
	s.grant("c2", 490, 510, 900)
	blame := s.requireBlame(t, MutualExclusion, NodesRemember, 300)
	require.Equal(t, "n5", blame.Process)
	require.Equal(t, "n5 was killed at 0.300 s, and came back without c1's key", blame.Why)
}

func TestBlameOfWrites(t *testing.T) {
	tests := []struct {
		name  string
		tell  func(*story)
		broke string
		time  int64
	}{
		{"a holder that was paused", func(s *story) {
			s.grant("c1", 0, 10, 900)
			s.read("c1", 1, 20, 30, "", 0)
			s.lasting(40, 1500, "pause", "c1")
			s.grant("c2", 1000, 1010, 900)
			s.write("c2", 1, 1020, 1030, history.TypeOK, "", "v1", 0)
			s.write("c1", 1, 1510, 1520, history.TypeOK, "", "v2", 0)
		}, HolderStops, 40},
		{"a write that was held", func(s *story) {
			s.grant("c1", 0, 10, 900)
			s.lasting(20, 1510, "hold", "c1-store")
			s.grant("c2", 1000, 1010, 900)
			s.write("c2", 1, 1020, 1030, history.TypeOK, "", "v1", 0)
			s.write("c1", 1, 30, 1520, history.TypeOK, "", "v2", 0)
		}, HolderStops, 20},
		{"a holder that did not look at its deadline", func(s *story) {
			s.grant("c1", 0, 10, 900)
			s.grant("c2", 1000, 1010, 900)
			s.write("c2", 1, 1020, 1030, history.TypeOK, "", "v1", 0)
			s.write("c1", 1, 1500, 1520, history.TypeOK, "", "v2", 0)
		}, HolderStops, 1500},
		{"two holders at once", func(s *story) {
			shared(s, func() { s.instant(100, "kill", "n3") })
			s.write("c1", 1, 310, 320, history.TypeOK, "", "v1", 0)
			s.write("c2", 1, 330, 340, history.TypeOK, "", "v2", 0)
		}, NodesRemember, 100},
		{"one holder, two writes", func(s *story) {
			s.grant("c1", 0, 10, 900)
			s.write("c1", 1, 20, 30, history.TypeOK, "", "v1", 0)
			s.write("c1", 1, 40, 50, history.TypeOK, "", "v2", 0)
		}, Unexplained, 40},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := tale()
			test.tell(s)
			s.requireBlame(t, ProtectedData, test.broke, test.time)
			s.requirePremises(t, ProtectedData)
		})
	}
}

func TestBlameOfWaits(t *testing.T) {
	tests := []struct {
		name  string
		tell  func(*story)
		broke string
		time  int64
	}{
		{"clocks put back", func(s *story) {
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			s.grant("c1", 0, 10, 900)
			for _, n := range []string{"n1", "n2", "n3"} {
				s.clock(100, n, -3000, 1, true)
			}
			s.grant("c2", 200, 4200, 900)
		}, ClocksAgree, 100},
		{"an orphan of a failed attempt", func(s *story) {
			s.header.Bounds.Free = 500 * ms
			s.sets(5, "c1", "t1", 1000, "n1", "n2", "n3")
			s.attempt("c1", 0, 10, history.TypeFail)
			s.grant("c2", 20, 1100, 900)
		}, "ReleaseEverywhere", 5},
		{"a release that could not arrive", func(s *story) {
			s.header.Bounds.Free = 500 * ms
			s.lasting(1, 1200, "lose", "c1-n1", "c1-n2", "c1-n3")
			s.sets(5, "c1", "t1", 1000, "n1", "n2", "n3")
			s.attempt("c1", 0, 10, history.TypeFail)
			s.grant("c2", 20, 1100, 900)
		}, ReleaseArrives, 1},
		{"a SET after the release", func(s *story) {
			s.header.Bounds.Free = 500 * ms
			s.deletes(5, "c1", "t1", "n1", "n2", "n3")
			s.sets(15, "c1", "t1", 1000, "n1", "n2", "n3")
			s.attempt("c1", 0, 10, history.TypeFail)
			s.grant("c2", 20, 1100, 900)
		}, "ReleaseAfterSet", 15},
		{"a livelock", func(s *story) { s.splits(2) }, "RetryJitter", 0},
		{"a key without an expiry", func(s *story) {
			s.sets(5, "c1", "t1", 0, "n1")
			s.attempt("c1", 0, 0, "")
			s.instant(6, "kill", "c1")
			s.look(3000, "n1", "r1", "t1", -1)
		}, KeysExpire, 5},
		{"kept too long", func(s *story) {
			s.header.Bounds.Tenure = 1000 * ms
			id := s.grant("c1", 0, 10, 900)
			s.attempt("c2", 20, 2000, history.TypeFail)
			s.extend("c1", id, 700, 710, 900)
			s.extend("c1", id, 1300, 1310, 900)
		}, "BoundedExtensions", 710},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := tale()
			test.tell(s)
			s.requireBlame(t, DeadlockFreedom, test.broke, test.time)
		})
	}
}

func TestBlameOfTokens(t *testing.T) {
	s := tale()
	s.header.Fencing = true
	grant := func(client string, asked, done, fence int64) {
		s.op(asked, done, history.TypeOK, history.Event{Process: client, Op: history.OpAcquire, Key: "k1", Fence: fence, Validity: ms})
	}
	grant("c1", 0, 10, 7)
	s.instant(20, "flush", "n1")
	grant("c2", 30, 40, 1)
	s.requireBlame(t, Fencing, NodesRemember, 20)

	s = tale()
	s.header.Fencing = true
	grant("c1", 0, 10, 7)
	grant("c2", 30, 40, 1)
	s.requireBlame(t, Fencing, OneCounter, 40)
}
