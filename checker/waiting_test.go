package checker

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// extendsUntil lets a client extend its lease at intervals.
func (s *story) extendsUntil(client string, lease int, until, every, validity int64) {
	for t := every; t < until; t += every {
		s.extend(client, lease, t, t+1, validity)
	}
}

// A client that keeps trying waits, whatever it does between two attempts. An excuse of a wait counts only while it
// lasts.
func TestWaiting(t *testing.T) {
	requireVerdicts(t, DeadlockFreedom, []storyCase{
		{"a waiter asks anew each 0.2 TTL while the holder extends without end", func(s *story) {
			s.header.Bounds.Tenure = 4000 * ms
			s.extendsUntil("c1", s.grant("c1", 0, 1, 900), 8000, 500, 900)
			s.asksAgain("c2", 2, 8000, 200)
		}, history.Violated, ""},
		{"a holder with a TTL of its own keeps it for as many of these", func(s *story) {
			s.header.Bounds.Tenure, s.header.ClientTTLs = 4000*ms, map[string]int64{"c1": 2500 * ms}
			s.extendsUntil("c1", s.grant("c1", 0, 1, 2400), 8000, 500, 1900)
			s.asksAgain("c2", 2, 9000, 200)
			s.grant("c2", 9900, 9901, 900)
		}, history.Holds, ""},
		{"keys of a killed holder whose nodes' clocks run slow are a fault that is not healed", func(s *story) {
			s.setClocks(0, 0, 0.1, majority...)
			s.killedHolder(1000)
			s.asksAgain("c2", 200, 8000, 100)
		}, history.Inconclusive, ""},
		{"a clock that jumps back is over at once, and the key stays", func(s *story) {
			s.killedHolder(1000)
			s.setClocks(150, -5000, 1, majority...)
			s.asksAgain("c2", 200, 5000, 100)
		}, history.Violated, ""},
		{"keys without an expiry are the lock's own fault, however slow the clocks", func(s *story) {
			s.setClocks(0, 0, 0.5, majority...)
			s.killedHolder(0)
			s.asksAgain("c2", 200, 8000, 100)
		}, history.Violated, ""},
		{"a short pause is waited through, also where the stretch ends in it", func(s *story) {
			s.grant("c1", 0, 1, 100)
			s.attempt("c2", 102, 1500, history.TypeFail)
			s.attempt("c2", 1600, 1600, history.TypeFail)
			s.attempt("c2", 1605, 1605, history.TypeFail)
		}, history.Violated, ""},
		{"a client's own TTL of five times the scenario's is waited for", func(s *story) {
			s.header.ClientTTLs = map[string]int64{"c1": 5000 * ms}
			s.holder(5000, 4900)
			s.instant(20, "kill", "c1")
			s.grant("c2", 30, 5020, 900)
		}, history.Holds, ""},
		{"an extension by who has no lease any more puts no wait off", func(s *story) {
			s.header.ClientTTLs = map[string]int64{"c1": 3000 * ms}
			id := s.holder(1000, 900)
			s.add(500, history.Event{Process: "c1", Type: history.TypeLost, Lease: id})
			for t := int64(900); t < 6000; t += 500 {
				s.extends(t, "c1", "c1.1", 1000, majority...)
			}
			s.attempt("c2", 600, 6900, history.TypeFail)
			s.grant("c2", 7000, 7010, 900)
		}, history.Violated, ""},
		{"leases that are over as they begin are no evidence: deadlock freedom", worthless, history.Inconclusive, ""},
	})
	requireVerdicts(t, FaultTolerance, []storyCase{
		{"who was refused twice has waited in between, however long the pause", func(s *story) {
			s.grant("c2", 0, 1, 100)
			s.asksAgain("c2", 1100, 2900, 1200)
			s.grant("c2", 3000, 3001, 100)
		}, history.Violated, ""},
		{"a client's clock at a tenth makes all that it times take ten times as long", func(s *story) {
			s.clock(0, "c2", 0, 0.1, false)
			s.grant("c2", 1, 4000, 100)
		}, history.Inconclusive, ""},
		{"what was tested only before a wait in vain was not put to the test", func(s *story) {
			s.grant("c2", 0, 1, 100)
			s.lasting(300, 9000, "pause", majority...)
			s.attempt("c2", 500, 8500, history.TypeFail)
		}, history.Inconclusive, ""},
		{"a client waits for a majority of its own nodes", func(s *story) {
			s.header.ConfiguredNodes = map[string][]string{"c1": {"n1", "n2", "n3"}}
			s.lasting(0, 3000, "pause", "n1", "n2")
			s.attempt("c1", 10, 2500, history.TypeFail)
			s.grant("c1", 3010, 3011, 900)
		}, history.Holds, ""},
		{"leases that are over as they begin are no evidence: fault tolerance", worthless, history.Inconclusive, ""},
		{"who is granted only such leases goes on waiting", func(s *story) {
			for t := int64(0); t < 3000; t += 100 {
				s.sets(t+1, "c1", fmt.Sprintf("c1.%d", s.ids["c1"]+1), 1, majority...)
				s.grant("c1", t, t+3, 1)
			}
		}, history.Violated, ""},
	})
	requireVerdicts(t, MutualExclusion, []storyCase{
		{"leases that are over as they begin are no evidence: mutual exclusion", worthless, history.Inconclusive, ""},
		{"nor are leases that end before an answer could arrive", tooShort, history.Inconclusive, ""},
		{"nor are leases of which the client was told at once that they are lost", lostAtOnce, history.Inconclusive, ""},
		{"but for an overlap of theirs", func(s *story) {
			tooShort(s)
			s.grant("c1", 600, 602, 1)
			s.grant("c2", 600, 602, 1)
		}, history.Violated, ""},
	})
}

// worthless grants are leases with no validity left.
func worthless(s *story) {
	s.header.Bounds.Free, s.header.Bounds.Grant = 1500*ms, 500*ms
	for t := int64(0); t < 400; t += 20 {
		s.grant("c1", t, t+1, 0)
		s.grant("c2", t+10, t+11, 0)
	}
}

// tooShort grants leases of 1 ms, where a reply travels 2 ms to its client.
func tooShort(s *story) {
	for t := int64(0); t < 400; t += 20 {
		for i, c := range []string{"c1", "c2"} {
			at := t + 10*int64(i)
			s.sets(at+1, c, fmt.Sprintf("%s.%d", c, s.ids[c]+1), 1, majority...)
			s.grant(c, at, at+3, 1)
		}
	}
}

// lostAtOnce grants leases, and reports their loss at once.
func lostAtOnce(s *story) {
	for t := int64(0); t < 400; t += 20 {
		for i, c := range []string{"c1", "c2"} {
			at := t + 10*int64(i) + 3
			s.add(at, history.Event{Process: c, Type: history.TypeLost, Key: "k1", Lease: s.grant(c, at-3, at, 900)})
		}
	}
}

// Each rival adds the bound of one client, whether or not a free lock has a bound.
func TestBound_GrowsWithRivals(t *testing.T) {
	for _, free := range []int64{0, 1500 * ms} {
		for until, violated := range map[int64]bool{1000: false, 1001: true} {
			s := newStory()
			s.header.Bounds.Free = free
			s.attempt("c1", 0, until, history.TypeFail)
			s.attempt("c2", 0, until, history.TypeFail)
			require.Equal(t, violated, s.violated(t, FaultTolerance), until)
		}
	}
}

// A client that is refused at once and retries after a pause, again and again, waits. Attempts that its caller cancels
// at once do not count. Pauses longer than the bound for a grant are the client's own choice.
func TestWait_RepeatedAttempts(t *testing.T) {
	again := func(times int, lasts, pause int64, reason string) func(*story) {
		return func(s *story) {
			for from := int64(1000); times > 0; times-- {
				s.op(from, from+lasts, history.TypeFail, history.Event{Process: "c1", Op: history.OpAcquire, Key: "k1",
					Reason: reason})
				from += lasts + pause
			}
		}
	}
	requireVerdicts(t, FaultTolerance, []storyCase{
		{"four times", again(4, 5, 161, history.ReasonNoMajority), history.Violated, ""},
		{"four times, within the bound", again(4, 5, 160, history.ReasonNoMajority), history.Holds, ""},
		{"cancelled at once", again(11, 5, 200, history.ReasonCancelled), history.Holds, ""},
		{"cancelled after a while", again(11, 125, 200, history.ReasonCancelled), history.Violated, ""},
	}, func(s *story) {
		s.sets(1, "c2", "c2.1", 1000, majority...)
		s.grant("c2", 0, 10, 900)
		s.deletes(105, "c2", "c2.1", majority...)
		s.release("c2", 1, 100, 110, history.TypeOK)
	})
}

// starves delays a client's timers, with the number of timers that were due.
func (s *story) starves(from, until int64, late int, client string) {
	s.counted(from, until, late, history.Fault{Kind: "starve", Class: history.ClientStarved, Targets: []string{client}})
}

func TestStarvedClient(t *testing.T) {
	late := func(granted int64) func(*story) {
		return func(s *story) {
			s.grant("c1", 0, 10, 900)
			s.grant("c2", 200, granted, 900)
			s.starves(300, 4500, 1, "c2")
		}
	}
	lateAlone := func(s *story) {
		s.grant("c2", 200, 5000, 900)
		s.starves(300, 4900, 1, "c2")
	}
	requireVerdicts(t, MutualExclusion, []storyCase{
		{"nothing late is a fault in vain", func(s *story) {
			s.starves(100, 800, 0, "c1")
			s.grant("c1", 0, 10, 900)
		}, history.Inconclusive, "affected nothing"},
		{"it is neither paused nor dead: its lease goes on", func(s *story) {
			s.starves(100, 800, 1, "c1")
			s.grant("c1", 0, 10, 900)
			s.grant("c2", 400, 500, 900)
		}, history.Violated, ""},
	})
	requireVerdicts(t, DeadlockFreedom, []storyCase{
		{"its retry may be late", late(5000), history.Holds, ""},
		{"not for longer than that", late(6100), history.Violated, ""},
		{"a wait in vain shows nothing", func(s *story) {
			s.grant("c1", 0, 10, 900)
			s.attempt("c2", 200, 5000, history.TypeFail)
			s.starves(300, 4900, 1, "c2")
		}, history.Inconclusive, "vacuous"},
		{"a late retry tests no lock that nobody held", lateAlone, history.Inconclusive, "had used before"},
	})
	requireVerdicts(t, FaultTolerance, []storyCase{
		{"a late grant is none in time", lateAlone, history.Inconclusive, reasonNoFreeLock},
		{"its rival waits as ever", func(s *story) {
			s.starves(100, 4900, 1, "c1")
			s.attempt("c2", 200, 5000, history.TypeFail)
		}, history.Violated, ""},
	})
}
