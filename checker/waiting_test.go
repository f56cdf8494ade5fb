package checker

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// asksAgain lets a client make short failed attempts at intervals.
func (s *story) asksAgain(client string, from, until, every int64) {
	for t := from; t < until; t += every {
		s.attempt(client, t, t+1, history.TypeFail)
	}
}

// extendsUntil lets a client extend its lease at intervals.
func (s *story) extendsUntil(client string, lease int, until, every, validity int64) {
	for t := every; t < until; t += every {
		s.extend(client, lease, t, t+1, validity)
	}
}

// leftByKilled kills c1 while it holds the lock, on nodes whose clocks run at a wrong rate.
func (s *story) leftByKilled(rate float64, expiry int64) {
	for _, node := range []string{"n1", "n2", "n3"} {
		s.clock(0, node, 0, rate, true)
		s.instant(0, "clock", node)
	}
	s.sets(1, "c1", "c1.1", expiry, "n1", "n2", "n3")
	s.grant("c1", 0, 2, 900)
	s.instant(100, "kill", "c1")
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
			s.leftByKilled(0.1, 1000)
			s.asksAgain("c2", 200, 8000, 100)
		}, history.Inconclusive, ""},
		{"a clock that jumps back is over at once, and the key stays", func(s *story) {
			s.sets(1, "c1", "c1.1", 1000, "n1", "n2", "n3")
			s.grant("c1", 0, 2, 900)
			s.instant(100, "kill", "c1")
			for _, node := range []string{"n1", "n2", "n3"} {
				s.clock(150, node, -5000, 1, true)
				s.instant(150, "clock", node)
			}
			s.asksAgain("c2", 200, 5000, 100)
		}, history.Violated, ""},
		{"keys without an expiry are the lock's own fault, however slow the clocks", func(s *story) {
			s.leftByKilled(0.5, 0)
			s.asksAgain("c2", 200, 8000, 100)
		}, history.Violated, ""},
		{"a short pause is waited through, also where the stretch ends in it", func(s *story) {
			s.grant("c1", 0, 1, 100)
			s.attempt("c2", 102, 1500, history.TypeFail)
			s.attempt("c2", 1600, 1600, history.TypeFail)
			s.attempt("c2", 1605, 1605, history.TypeFail)
		}, history.Violated, ""},
		{"a client's own TTL of five times the scenario's is waited for", func(s *story) {
			s.waitForKilled(5000)
		}, history.Holds, ""},
		{"an extension by who has no lease any more puts no wait off", func(s *story) {
			s.header.ClientTTLs = map[string]int64{"c1": 3000 * ms}
			id := s.grant("c1", 0, 10, 900)
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			s.add(500, history.Event{Process: "c1", Type: history.TypeLost, Lease: id})
			for t := int64(900); t < 6000; t += 500 {
				s.extends(t, "c1", "c1.1", 1000, "n1", "n2", "n3")
			}
			s.attempt("c2", 600, 6900, history.TypeFail)
			s.grant("c2", 7000, 7010, 900)
		}, history.Violated, ""},
		{"leases that are over as they begin are no evidence: deadlock freedom", worthless, history.Inconclusive, ""},
	})
	requireVerdicts(t, FaultTolerance, []storyCase{
		{"pauses of 0.6 TTL between refusals are part of the wait: fault tolerance", func(s *story) {
			s.grant("c2", 0, 1, 100)
			s.asksAgain("c2", 500, 8000, 600)
		}, history.Violated, ""},
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
			s.lasting(300, 9000, "pause", "n1", "n2", "n3")
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
				s.sets(t+1, "c1", fmt.Sprintf("c1.%d", s.ids["c1"]+1), 1, "n1", "n2", "n3")
				s.grant("c1", t, t+3, 1)
			}
		}, history.Violated, ""},
		{"keys that no command is known to have set may outlive a dead holder for its TTL", func(s *story) {
			s.grant("c1", 0, 1, 950)
			s.instant(200, "kill", "c1")
			s.grant("c2", 2, 1030, 900)
		}, history.Holds, ""},
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
			s.sets(at+1, c, fmt.Sprintf("%s.%d", c, s.ids[c]+1), 1, "n1", "n2", "n3")
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

// waitForKilled lets c2 wait for the key of c1, which is killed. The TTL is c1's own, or the scenario's.
func (s *story) waitForKilled(ttl int64) {
	if ttl > 0 {
		s.header.ClientTTLs = map[string]int64{"c1": ttl * ms}
	}
	s.grant("c1", 0, 10, 4900)
	s.sets(5, "c1", "c1.1", 5000, "n1", "n2", "n3")
	s.instant(20, "kill", "c1")
	s.grant("c2", 30, 5020, 900)
}

func TestWaitViolation_Description(t *testing.T) {
	const said = `c2 waited 2.090 s (limit 1.500 s) for "k1", from 0.910 s to 3.000 s, although no client held it and ` +
		`c2 reached a majority of its nodes; c2 had tried since 0.200 s and `
	for _, c := range []struct {
		tell           func(*story)
		property, said string
	}{
		{func(s *story) { s.grant("c1", 0, 10, 900); s.attempt("c2", 200, 3000, history.TypeFail) },
			DeadlockFreedom, said + "was still waiting"},
		{func(s *story) { s.grant("c1", 0, 10, 900); s.grant("c2", 200, 3000, 900) },
			DeadlockFreedom, said + "acquired it at the end"},
		{func(s *story) { s.attempt("c1", 0, 1200, history.TypeFail) }, FaultTolerance, "did not acquire it"},
		{func(s *story) {
			s.attempt("c1", 0, 1200, history.TypeFail)
			s.attempt("c2", 0, 1200, history.TypeFail)
		}, FaultTolerance, "did not acquire it, nor did any other client (1 tried)"},
	} {
		s := newStory()
		c.tell(s)
		r := s.judged(t, c.property)
		require.Contains(t, r.Violations[0].What, c.said)
		if c.property == DeadlockFreedom {
			require.Equal(t, 2090*ms, r.Measured["longest_free"])
		}
	}
}

// Each client's interval without a grant is reported once; two that only touch are two.
func TestWaits_TouchingIntervals_AreTwoViolations(t *testing.T) {
	s := newStory()
	s.lasting(0, 1200, "cut", "c1-n1", "c1-n2", "c1-n3")
	s.attempt("c1", 0, 3000, history.TypeFail)
	s.attempt("c2", 1, 1200, history.TypeFail)
	found := s.judged(t, FaultTolerance).Violations
	require.Len(t, found, 2)
	require.Equal(t, []int64{1200 * ms, 3000 * ms}, []int64{found[0].From, found[0].Until})
	require.Equal(t, []int64{1 * ms, 1200 * ms}, []int64{found[1].From, found[1].Until})
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

// Another client's attempt with an unknown outcome may have left keys, as a failed one: the bound begins again at its
// end.
func TestWait_OtherAttemptEnds_RestartsTheBound(t *testing.T) {
	for outcome, violated := range map[history.Type]bool{history.TypeInfo: false, history.TypeFail: false, "": true} {
		s := newStory()
		s.attempt("c1", 0, 1000, outcome)
		s.attempt("c2", 5, 2400, history.TypeFail)
		require.Equal(t, violated, s.violated(t, DeadlockFreedom), outcome)
	}
}

// A client that is refused at once and retries after a pause, again and again, waits. Attempts that its caller cancels
// at once do not count. Pauses longer than the bound for a grant are the client's own choice.
func TestWait_RepeatedAttempts(t *testing.T) {
	for name, c := range map[string]struct {
		times, lasts, pause int64
		reason              string
		violated            bool
	}{
		"four times":                   {4, 5, 161, history.ReasonNoMajority, true},
		"four times, within the bound": {4, 5, 160, history.ReasonNoMajority, false},
		"longer pauses":                {6, 5, 501, history.ReasonNoMajority, true},
		"cancelled at once":            {11, 5, 200, history.ReasonCancelled, false},
		"cancelled after a while":      {11, 125, 200, history.ReasonCancelled, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.header.Bounds.Free = 1500 * ms
			s.sets(1, "c2", "c2.1", 1000, "n1", "n2", "n3")
			s.grant("c2", 0, 10, 900)
			s.deletes(105, "c2", "c2.1", "n1", "n2", "n3")
			s.release("c2", 1, 100, 110, history.TypeOK)
			from := int64(1000)
			for range c.times {
				s.op(from, from+c.lasts, history.TypeFail, history.Event{Process: "c1", Op: history.OpAcquire, Key: "k1",
					Reason: c.reason})
				from += c.lasts + c.pause
			}
			require.Equal(t, c.violated, s.violated(t, FaultTolerance))
		})
	}
}

// starves delays a client's timers, with the number of timers that were due.
func (s *story) starves(from, until int64, late int, client string) {
	s.counted(from, until, late, history.Fault{Kind: "starve", Class: history.ClientStarved, Targets: []string{client}})
}

func TestStarvedClient(t *testing.T) {
	for _, c := range []struct {
		name, property, verdict, reason string
		tell                            func(s *story)
	}{
		{"nothing late is a fault in vain", MutualExclusion, history.Inconclusive, "affected nothing", func(s *story) {
			s.starves(100, 800, 0, "c1")
			s.grant("c1", 0, 10, 900)
		}},
		{"it is neither paused nor dead: its lease goes on", MutualExclusion, history.Violated, "", func(s *story) {
			s.starves(100, 800, 1, "c1")
			s.grant("c1", 0, 10, 900)
			s.grant("c2", 400, 500, 900)
		}},
		{"its retry may be late", DeadlockFreedom, history.Holds, "", func(s *story) {
			s.grant("c1", 0, 10, 900)
			s.grant("c2", 200, 5000, 900)
			s.starves(300, 4500, 1, "c2")
		}},
		{"not for longer than that", DeadlockFreedom, history.Violated, "", func(s *story) {
			s.grant("c1", 0, 10, 900)
			s.grant("c2", 200, 6100, 900)
			s.starves(300, 4500, 1, "c2")
		}},
		{"a wait in vain shows nothing", DeadlockFreedom, history.Inconclusive, "vacuous", func(s *story) {
			s.grant("c1", 0, 10, 900)
			s.attempt("c2", 200, 5000, history.TypeFail)
			s.starves(300, 4900, 1, "c2")
		}},
		{"a late retry tests no lock that nobody held", DeadlockFreedom, history.Inconclusive, "had used before",
			func(s *story) {
				s.grant("c2", 200, 5000, 900)
				s.starves(300, 4900, 1, "c2")
			}},
		{"a late grant is none in time", FaultTolerance, history.Inconclusive, "tried to acquire a free lock",
			func(s *story) {
				s.grant("c2", 200, 5000, 900)
				s.starves(300, 4900, 1, "c2")
			}},
		{"its rival waits as ever", FaultTolerance, history.Violated, "", func(s *story) {
			s.starves(100, 4900, 1, "c1")
			s.attempt("c2", 200, 5000, history.TypeFail)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory()
			c.tell(s)
			s.requireVerdict(t, c.property, c.verdict, c.reason)
		})
	}
}
