package checker

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// owned is an ownership of k1 on n1, in milliseconds.
type owned struct {
	owner, token string
	from, until  int64
	ended        string
}

type timelineCase struct {
	name string
	tell func(*story)
	want []owned
}

func requireTimelines(t *testing.T, tests []timelineCase, begin ...func(*story)) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			s.attempt("c1", 0, 5, history.TypeFail) // makes k1 a key of the run
			for _, tell := range append(begin, test.tell) {
				tell(s)
			}
			var got []owned
			for _, h := range s.history(t, 2000).Ownerships() {
				require.Equal(t, "n1", h.Node)
				got = append(got, owned{h.Owner, h.Token, h.From / ms, h.Until / ms, h.Ended})
			}
			require.Equal(t, test.want, got)
		})
	}
}

func TestTimeline_KeyWithAnExpiry(t *testing.T) {
	t1 := func(until int64, ended string, then ...owned) []owned {
		return append([]owned{{"c1", "t1", 10, until, ended}}, then...)
	}
	requireTimelines(t, []timelineCase{
		{"deleted by its owner", func(s *story) { s.deletes(200, "c1", "t1", "n1") }, t1(200, OwnershipDeleted)},
		{"removed by another", func(s *story) { s.deletes(200, "c2", "", "n1") }, t1(200, OwnershipRemoved)},
		{"expired", func(*story) {}, t1(1010, OwnershipExpired)},
		{"gone without a trace", func(s *story) { s.sets(500, "c2", "t2", 1000, "n1") },
			t1(500, OwnershipVanished, owned{"c2", "t2", 500, 1500, OwnershipExpired})},
		{"expired early on a clock that jumped", func(s *story) { s.clock(300, "n1", 900, 1, true) },
			t1(410, OwnershipExpired)},
		{"extended", func(s *story) { s.extends(500, "c1", "t1", 1000, "n1") }, t1(1500, OwnershipExpired)},
		{"forgotten, as a look shows", func(s *story) {
			s.instant(100, "kill", "n1")
			s.instant(150, "start", "n1")
			s.look(160, "n1", "r2", "", 0)
		}, t1(100, OwnershipForgotten)},
		{"evicted, as a look shows", func(s *story) {
			s.fault(100, "fill", history.PhaseBegin, 1, "n1")
			s.look(101, "n1", "r1", "", 0)
		}, t1(100, OwnershipEvicted)},
		{"deleted by a client that was gone before the reply", func(s *story) {
			s.silentDelete(200, "c2")
			s.sets(300, "c3", "t3", 100, "n1")
		}, t1(200, OwnershipRemoved, owned{"c3", "t3", 300, 400, OwnershipExpired})},
		{"not by a delete that reached its node before it", func(s *story) {
			s.silentDelete(5, "c2")
			s.sets(500, "c3", "t3", 100, "n1")
		}, t1(500, OwnershipVanished, owned{"c3", "t3", 500, 600, OwnershipExpired})},
		{"flushed", func(s *story) { s.instant(100, "flush", "n1") }, t1(100, OwnershipFlushed)},
		{"moved with its slot", func(s *story) {
			s.add(100, history.Event{Process: "nemesis", Type: history.TypeFault,
				Fault: &history.Fault{ID: 1, Kind: "migrate-slot",
					Class: history.SlotMoves, Phase: history.PhaseBegin, Targets: []string{"n2"}, Asked: history.Asked{To: "n1"}}})
			s.look(500, "n1", "r1", "", 0)
		}, t1(100, OwnershipMoved)},
		{"the owner's own token again", func(s *story) { s.silent(50, "c1", "t1", "n1")(50, "t1", true) },
			t1(1010, OwnershipExpired)},
		{"the owner's own token, set again by a SET without NX", func(s *story) { s.sets(50, "c1", "t1", 1000, "n1") },
			t1(1050, OwnershipExpired)},
		{"extended by a script that takes a free key or extends its own", func(s *story) {
			s.command(500, "c1>n1", history.Command{Name: "EVAL", Key: "k1", Token: "t1", Expiry: 1000 * ms,
				Effect: history.EffectSet, Extends: true})(500, "1", true)
		}, t1(1500, OwnershipExpired)},
		{"not extended by a script that only takes a free key", func(s *story) {
			s.commands(500, "c1", "EVAL", "t1", 1000, history.EffectSet, []string{"n1"})
		}, t1(1010, OwnershipExpired)},
	}, func(s *story) { s.sets(10, "c1", "t1", 1000, "n1") })
}

func TestTimeline_KeyWithoutAnExpiry(t *testing.T) {
	shown := []owned{{"c1", "t1", 10, 700, OwnershipDeleted}}
	shows := func(c history.Command, reply string, done bool) func(*story) {
		return func(s *story) { // it is gone at 900 ms
			s.silentDelete(20, "c1")
			c.Key = "k1"
			s.command(700, "c2>n1", c)(700, reply, done)
			s.look(900, "n1", "r1", "", 0)
		}
	}
	requireTimelines(t, []timelineCase{
		{"until the end", func(*story) {}, []owned{{"c1", "t1", 10, 2000, OwnershipOpen}}},
		{"replaced by another client after a delete without a reply", func(s *story) {
			s.silentDelete(20, "c1")
			s.command(900, "c2>n1", history.Command{Name: "GETSET", Key: "k1", Token: "t2", Effect: history.EffectSet,
				Unconditional: true})(900, "t1", true)
		}, []owned{{"c1", "t1", 10, 900, OwnershipRemoved}, {"c2", "t2", 900, 2000, OwnershipOpen}}},
		{"shown by a GET after a delete without a reply",
			shows(history.Command{Name: "GET", Effect: history.EffectRead}, "t1", true), shown},
		{"shown by a refused SET after a delete without a reply",
			shows(history.Command{Name: "SET", Token: "t2", Effect: history.EffectSet}, "nil", false), shown},
		{"shown by a script that refuses after a delete without a reply",
			shows(history.Command{Name: "EVAL", Token: "t2", Effect: history.EffectSet}, "0", false), shown},
	}, func(s *story) { s.sets(10, "c1", "t1", 0, "n1") })
}

func TestTimeline_FirstShownOtherwise(t *testing.T) {
	requireTimelines(t, []timelineCase{
		{"resynced from a master that went down", func(s *story) {
			s.header.Nodes, s.header.Replicas = []string{"n2"}, map[string]string{"n1": "n2"}
			s.look(10, "n1", "r1", "t1", 1000)
			s.instant(100, "kill", "n2")
			s.look(500, "n1", "r1", "", 0)
		}, []owned{{"", "t1", 10, 500, OwnershipResynced}}},
		{"seen by a look alone", func(s *story) { s.look(50, "n1", "r1", "t9", 100) },
			[]owned{{"", "t9", 50, 150, OwnershipExpired}}},
		{"set until a reading of its node's wall clock", func(s *story) {
			s.clock(0, "n1", 5000, 1, true)
			s.command(100, "c1>n1", history.Command{Name: "SET", Key: "k1", Token: "t1", ExpiresAt: 5900 * ms,
				Effect: history.EffectSet})(100, "OK", true)
		}, []owned{{"c1", "t1", 100, 900, OwnershipExpired}}},
		{"set by a script to a value that only a look shows", func(s *story) {
			s.commands(10, "c1", "EVAL", "", 1000, history.EffectSet, []string{"n1"})
			s.look(100, "n1", "r1", "locked", 910)
		}, []owned{{"c1", "locked", 10, 1010, OwnershipExpired}}},
	})
}

// silentDelete is a delete of k1 that reached n1, with no reply.
func (s *story) silentDelete(t int64, client string) {
	s.command(t, client+">n1", history.Command{Name: "DEL", Key: "k1", Effect: history.EffectDelete})
}

func TestLook_KeyExpiresNow_HasAnExpiry(t *testing.T) {
	for ttl, kept := range map[int64]bool{0: false, -1: true} {
		s := newStory()
		s.grant("c1", 0, 10, 100)
		s.look(50, "n1", "r1", "c1.1", ttl)
		r := s.judged(t, DeadlockFreedom)
		require.Equal(t, history.Inconclusive, r.Verdict)
		require.Equal(t, kept, strings.Contains(r.Reason, "has no expiry"), r.Reason)
		for _, ownership := range s.history(t, 3000).Ownerships() {
			require.Equal(t, kept, ownership.Ended == OwnershipOpen, ownership.Ended)
		}
	}
}

func TestLeftKey_ExcusesAWait(t *testing.T) {
	// an owner that is dead; whether its key has an expiry left, as a look shows
	looked := func(ttl int64) func(*story) {
		return func(s *story) {
			s.sets(5, "c1", "c1.1", 5000, majority...)
			s.attempt("c1", 0, 10, history.TypeFail)
			s.instant(20, "kill", "c1")
			for _, node := range majority {
				s.look(50, node, "r"+node, "c1.1", ttl)
			}
			s.attempt("c2", 60, 4000, history.TypeFail)
		}
	}
	killed := func(at int64) func(*story) {
		return func(s *story) {
			s.sets(5, "c1", "t1", 2500, majority...)
			s.attempt("c1", 0, 10, history.TypeFail)
			s.instant(at, "kill", "c1")
			s.attempt("c2", 20, 3000, history.TypeFail)
		}
	}
	requireVerdicts(t, FaultTolerance, []storyCase{
		{"its owner is dead, so others wait for it", looked(5000), history.Inconclusive, reasonNoFreeLock},
		{"but not if it is there no longer", looked(0), history.Violated, ""},
		{"its owner was killed while it was there", killed(2505), history.Inconclusive, reasonNoFreeLock},
		{"its owner was killed later", killed(2506), history.Violated, ""},
	})
}

// A late SET that takes the place of another client's key excuses no wait, answered or not. One that finds the key free
// does.
func TestLateSet_OverwritesAnothersKey_ExcusesNoWait(t *testing.T) {
	late := func(at int64, plain, answered bool) func(*story) {
		return func(s *story) {
			s.fault(100, "hold", history.PhaseBegin, 1, links("c1")...)
			s.grant("c1", 0, 10, 900)
			s.sets(1005, "c2", "t2", 1000, majority...)
			s.grant("c2", 1000, 1010, 900)
			s.instant(1020, "kill", "c2")
			s.fault(at-1, "hold", history.PhaseEnd, 1, links("c1")...)
			for _, node := range majority {
				reply := s.command(at, "c1>"+node, history.Command{Name: "SET", Key: "k1", Token: "t1", Expiry: 1000 * ms,
					Effect: history.EffectSet, Unconditional: plain})
				if answered {
					reply(at, "OK", true)
				}
			}
			s.refused(2100, "c3", "t3", "nil", majority...)
			s.grant("c3", 1030, 2950, 900)
		}
	}
	requireVerdicts(t, DeadlockFreedom, []storyCase{
		{"an NX one", late(1801, false, false), history.Holds, ""},
		{"one without NX", late(1801, true, false), history.Violated, ""},
		{"one without NX, and answered", late(1801, true, true), history.Violated, ""},
		{"when the other's key has expired", late(2010, true, true), history.Holds, ""},
	})
}
