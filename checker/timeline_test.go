package checker

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

func TestTimeline(t *testing.T) {
	type want struct {
		owner, token string
		from, until  int64
		ended        string
	}
	shown := []want{{"c1", "t1", 10, 700, OwnershipDeleted}}
	tests := []struct {
		name string
		tell func(*story)
		want []want
	}{
		{"deleted by its owner", func(s *story) {
			s.sets(10, "c1", "t1", 1000, "n1")
			s.deletes(200, "c1", "t1", "n1")
		}, []want{{"c1", "t1", 10, 200, OwnershipDeleted}}},
		{"removed by another", func(s *story) {
			s.sets(10, "c1", "t1", 1000, "n1")
			s.deletes(200, "c2", "", "n1")
		}, []want{{"c1", "t1", 10, 200, OwnershipRemoved}}},
		{"expired", func(s *story) { s.sets(10, "c1", "t1", 1000, "n1") }, []want{{"c1", "t1", 10, 1010, OwnershipExpired}}},
		{"gone without a trace", func(s *story) {
			s.sets(10, "c1", "t1", 1000, "n1")
			s.sets(500, "c2", "t2", 1000, "n1")
		}, []want{{"c1", "t1", 10, 500, OwnershipVanished}, {"c2", "t2", 500, 1500, OwnershipExpired}}},
		{"expired early on a clock that jumped", func(s *story) {
			s.sets(10, "c1", "t1", 1000, "n1")
			s.clock(300, "n1", 900, 1, true)
		}, []want{{"c1", "t1", 10, 410, OwnershipExpired}}},
		{"extended", func(s *story) {
			s.sets(10, "c1", "t1", 1000, "n1")
			s.extends(500, "c1", "t1", 1000, "n1")
		}, []want{{"c1", "t1", 10, 1500, OwnershipExpired}}},
		{"has no expiry", func(s *story) { s.sets(10, "c1", "t1", 0, "n1") }, []want{{"c1", "t1", 10, 2000, OwnershipOpen}}},
		{"forgotten, as a look shows", func(s *story) {
			s.sets(10, "c1", "t1", 1000, "n1")
			s.instant(100, "kill", "n1")
			s.instant(150, "start", "n1")
			s.look(160, "n1", "r2", "", 0)
		}, []want{{"c1", "t1", 10, 100, OwnershipForgotten}}},
		{"evicted, as a look shows", func(s *story) {
			s.sets(10, "c1", "t1", 1000, "n1")
			s.fault(100, "fill", history.PhaseBegin, 1, "n1")
			s.look(101, "n1", "r1", "", 0)
		}, []want{{"c1", "t1", 10, 100, OwnershipEvicted}}},
		{"deleted by a client that was gone before the reply", func(s *story) {
			s.sets(10, "c1", "t1", 1000, "n1")
			s.command(200, "c2>n1", history.Command{Name: "DEL", Key: "k1", Effect: history.EffectDelete})
			s.sets(300, "c3", "t3", 100, "n1")
		}, []want{{"c1", "t1", 10, 200, OwnershipRemoved}, {"c3", "t3", 300, 400, OwnershipExpired}}},
		{"not by a delete that reached its node before it", func(s *story) {
			s.command(5, "c2>n1", history.Command{Name: "DEL", Key: "k1", Effect: history.EffectDelete})
			s.sets(10, "c1", "t1", 1000, "n1")
			s.sets(500, "c3", "t3", 100, "n1")
		}, []want{{"c1", "t1", 10, 500, OwnershipVanished}, {"c3", "t3", 500, 600, OwnershipExpired}}},
		{"flushed", func(s *story) {
			s.sets(10, "c1", "t1", 1000, "n1")
			s.instant(100, "flush", "n1")
		}, []want{{"c1", "t1", 10, 100, OwnershipFlushed}}},
		{"moved with its slot", func(s *story) {
			s.sets(10, "c1", "t1", 1000, "n1")
			s.add(100, history.Event{Process: "nemesis", Type: history.TypeFault,
				Fault: &history.Fault{ID: 1, Kind: "migrate-slot",
					Class: history.SlotMoves, Phase: history.PhaseBegin, Targets: []string{"n2"}, Asked: history.Asked{To: "n1"}}})
			s.look(500, "n1", "r1", "", 0)
		}, []want{{"c1", "t1", 10, 100, OwnershipMoved}}},
		{"resynced from a master that went down", func(s *story) {
			s.header.Nodes, s.header.Replicas = []string{"n2"}, map[string]string{"n1": "n2"}
			s.look(10, "n1", "r1", "t1", 1000)
			s.instant(100, "kill", "n2")
			s.look(500, "n1", "r1", "", 0)
		}, []want{{"", "t1", 10, 500, OwnershipResynced}}},
		{"the owner's own token again", func(s *story) {
			s.sets(10, "c1", "t1", 1000, "n1")
			s.add(50, history.Event{Process: "c1>n1", Type: history.TypeReply, Command: &history.Command{
				Name: "SET", Key: "k1", Token: "t1", Expiry: 1000 * ms, Effect: history.EffectSet, Reply: "t1", Done: true}})
		}, []want{{"c1", "t1", 10, 1010, OwnershipExpired}}},
		{"the owner's own token, set again by a SET without NX", func(s *story) {
			s.sets(10, "c1", "t1", 1000, "n1")
			s.sets(50, "c1", "t1", 1000, "n1")
		}, []want{{"c1", "t1", 10, 1050, OwnershipExpired}}},
		{"seen by a look alone", func(s *story) { s.look(50, "n1", "r1", "t9", 100) },
			[]want{{"", "t9", 50, 150, OwnershipExpired}}},
		{"set until a reading of its node's wall clock", func(s *story) {
			s.clock(0, "n1", 5000, 1, true)
			s.command(100, "c1>n1", history.Command{Name: "SET", Key: "k1", Token: "t1", ExpiresAt: 5900 * ms,
				Effect: history.EffectSet})(100, "OK", true)
		}, []want{{"c1", "t1", 100, 900, OwnershipExpired}}},
		{"replaced by another client after a delete without a reply", func(s *story) {
			s.sets(10, "c1", "t1", 0, "n1")
			s.silentDelete(20)
			s.command(900, "c2>n1", history.Command{Name: "GETSET", Key: "k1", Token: "t2", Effect: history.EffectSet,
				Unconditional: true})(900, "t1", true)
		}, []want{{"c1", "t1", 10, 900, OwnershipRemoved}, {"c2", "t2", 900, 2000, OwnershipOpen}}},
		{"shown by a GET after a delete without a reply", func(s *story) {
			s.shownAfterDelete(history.Command{Name: "GET", Effect: history.EffectRead}, "t1", true)
		}, shown},
		{"shown by a refused SET after a delete without a reply", func(s *story) {
			s.shownAfterDelete(history.Command{Name: "SET", Token: "t2", Effect: history.EffectSet}, "nil", false)
		}, shown},
		{"shown by a script that refuses after a delete without a reply", func(s *story) {
			s.shownAfterDelete(history.Command{Name: "EVAL", Token: "t2", Effect: history.EffectSet}, "0", false)
		}, shown},
		{"extended by a script that takes a free key or extends its own", func(s *story) {
			s.sets(10, "c1", "t1", 1000, "n1")
			s.command(500, "c1>n1", history.Command{Name: "EVAL", Key: "k1", Token: "t1", Expiry: 1000 * ms,
				Effect: history.EffectSet, Extends: true})(500, "1", true)
		}, []want{{"c1", "t1", 10, 1500, OwnershipExpired}}},
		{"not extended by a script that only takes a free key", func(s *story) {
			s.sets(10, "c1", "t1", 1000, "n1")
			s.commands(500, "c1", "EVAL", "t1", 1000, history.EffectSet, []string{"n1"})
		}, []want{{"c1", "t1", 10, 1010, OwnershipExpired}}},
		{"set by a script to a value that only a look shows", func(s *story) {
			s.commands(10, "c1", "EVAL", "", 1000, history.EffectSet, []string{"n1"})
			s.look(100, "n1", "r1", "locked", 910)
		}, []want{{"c1", "locked", 10, 1010, OwnershipExpired}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			s.attempt("c1", 0, 5, history.TypeFail) // makes k1 a key of the run
			test.tell(s)
			var got []want
			for _, h := range s.history(t, 2000).Ownerships() {
				require.Equal(t, "n1", h.Node)
				got = append(got, want{h.Owner, h.Token, h.From / ms, h.Until / ms, h.Ended})
			}
			require.Equal(t, test.want, got)
		})
	}
}

// silentDelete is a delete of k1 that reached n1, with no reply.
func (s *story) silentDelete(t int64) {
	s.command(t, "c1>n1", history.Command{Name: "DEL", Key: "k1", Effect: history.EffectDelete})
}

// shownAfterDelete is a key that a command finds after an unanswered delete, and that is gone at 900 ms.
func (s *story) shownAfterDelete(c history.Command, reply string, done bool) {
	s.sets(10, "c1", "t1", 0, "n1")
	s.silentDelete(20)
	c.Key = "k1"
	s.command(700, "c2>n1", c)(700, reply, done)
	s.look(900, "n1", "r1", "", 0)
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

// Its owner is dead, so others wait for it, but not longer than it is there.
func TestLook_KeyExpiresNow_ExcusesNoLaterWait(t *testing.T) {
	for ttl, violated := range map[int64]bool{0: true, 5000: false} {
		s := newStory()
		s.sets(5, "c1", "c1.1", 5000, "n1", "n2", "n3")
		s.attempt("c1", 0, 10, history.TypeFail)
		s.instant(20, "kill", "c1")
		for _, node := range []string{"n1", "n2", "n3"} {
			s.look(50, node, "r"+node, "c1.1", ttl)
		}
		s.attempt("c2", 60, 4000, history.TypeFail)
		require.Equal(t, violated, s.violated(t, FaultTolerance), ttl)
	}
}

// The lock is not to blame for a key whose owner was killed while it was there.
func TestKilledOwner_KeyIsExcused(t *testing.T) {
	for killed, violated := range map[int64]bool{2505: false, 2506: true} {
		s := newStory()
		s.sets(5, "c1", "t1", 2500, "n1", "n2", "n3")
		s.attempt("c1", 0, 10, history.TypeFail)
		s.instant(killed, "kill", "c1")
		s.attempt("c2", 20, 3000, history.TypeFail)
		require.Equal(t, violated, s.violated(t, FaultTolerance), killed)
	}
}

// A late SET that takes the place of another client's key excuses no wait, answered or not. One that finds the key free
// does.
func TestLateSet_OverwritesAnothersKey_ExcusesNoWait(t *testing.T) {
	for _, test := range []struct {
		plain, answered bool
		at              int64
		verdict         string
	}{
		{false, false, 1801, history.Holds}, {true, false, 1801, history.Violated}, {true, true, 1801, history.Violated},
		{true, true, 2010, history.Holds}, // the other's key has expired
	} {
		s := newStory()
		links, nodes := []string{"c1-n1", "c1-n2", "c1-n3"}, []string{"n1", "n2", "n3"}
		s.fault(100, "hold", history.PhaseBegin, 1, links...)
		s.grant("c1", 0, 10, 900)
		s.sets(1005, "c2", "t2", 1000, nodes...)
		s.grant("c2", 1000, 1010, 900)
		s.instant(1020, "kill", "c2")
		s.fault(test.at-1, "hold", history.PhaseEnd, 1, links...)
		for _, node := range nodes {
			reply := s.command(test.at, "c1>"+node, history.Command{Name: "SET", Key: "k1", Token: "t1", Expiry: 1000 * ms,
				Effect: history.EffectSet, Unconditional: test.plain})
			if test.answered {
				reply(test.at, "OK", true)
			}
			s.refused(2100, "c3", "t3", "nil", node)
		}
		s.grant("c3", 1030, 2950, 900)
		require.Equal(t, test.verdict, s.judged(t, DeadlockFreedom).Verdict, test)
	}
}

// A GET shows the key of a client that was killed before the reply to its SET: others must wait for its expiry.
func TestKilledClient_KeyThatAGetShows_IsExcused(t *testing.T) {
	for seen, violated := range map[string]bool{"t1": false, "t9": true} {
		s := newStory()
		s.attempt("c1", 0, 0, "")
		for _, node := range []string{"n1", "n2", "n3"} {
			s.command(5, "c1>"+node, history.Command{Name: "SET", Key: "k1", Token: "t1", Expiry: 1000 * ms,
				Effect: history.EffectSet})
			s.command(30, "c2>"+node, history.Command{Name: "GET", Key: "k1", Effect: history.EffectRead})(30, seen, true)
		}
		s.instant(10, "kill", "c1")
		s.attempt("c2", 20, 1000, history.TypeFail)
		require.Equal(t, violated, s.violated(t, FaultTolerance), seen)
	}
}

// Others may only ask whether the key exists, so that no reply shows which killed client's SET left it. A SET that
// finds another's key leaves none.
func TestKilledClient_UnansweredSetThatNothingShows_IsExcused(t *testing.T) {
	for held, violated := range map[bool]bool{false: false, true: true} {
		s := newStory()
		s.attempt("c1", 0, 0, "")
		if held {
			s.sets(4, "c3", "t3", 20, "n1", "n2", "n3")
		}
		for _, node := range []string{"n1", "n2", "n3"} {
			s.silent(5, "c1", "t1", node)
		}
		s.instant(10, "kill", "c1")
		s.attempt("c2", 20, 1000, history.TypeFail)
		require.Equal(t, violated, s.violated(t, FaultTolerance), held)
	}
}
