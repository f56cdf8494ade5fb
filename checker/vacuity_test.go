package checker

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/harness/history"
)

const (
	reasonNoFreeLock   = "vacuous: no client that reached a healthy majority tried to acquire a free lock"
	reasonNoContention = "vacuous: no acquire overlapped another client's lease or acquire"
)

// inVain is a pause of c1 without effect.
func (s *story) inVain(t int64, phase history.Phase) {
	s.fault(t, "pause", phase, 1, "c1")
	s.events[len(s.events)-1].Fault.Effective = false
}

func TestVacuity_HoldsNeedsEvidence(t *testing.T) {
	for _, test := range []struct {
		name   string
		tell   func(*story)
		reason string // "": the verdict is earned
	}{
		{"too few grants", func(s *story) { s.header.Earned.Grants = 2 }, "vacuous: too few successful acquires: 1, want 2"},
		{"no contention", func(s *story) { s.header.Earned.Contended = 1 }, reasonNoContention},
		{"contention by an attempt during a lease", func(s *story) {
			s.header.Earned.Contended = 1
			s.attempt("c2", 100, 110, history.TypeFail)
		}, ""},
		{"contention with a key that outlived its lease", func(s *story) {
			s.header.Earned.Contended = 1
			s.sets(5, "c1", "c1.1", 1000, "n1")
			s.attempt("c2", 950, 990, history.TypeFail)
		}, ""},
		{"a fault before all work", func(s *story) {
			s.header.Earned.Faults = 1
			s.grant("c2", 5000, 5010, 100)
			s.lasting(2000, 3000, "cut", "c1-n1")
		}, "vacuous: no fault affected a lease or an acquire"},
		{"a fault during a lease, on three links, is one", func(s *story) {
			s.header.Earned.Faults = 2
			s.lasting(100, 200, "cut", "c1-n1", "c1-n2", "c1-n3")
		}, "vacuous: too few faults that affected a lease or an acquire: 1, want 2"},
		{"a node that went down before the lease and stayed down", func(s *story) {
			s.header.Earned.Faults = 1
			s.instant(0, "kill", "n1")
		}, ""},
		{"a fault that did not take effect", func(s *story) {
			s.inVain(500, history.PhaseBegin)
		}, "vacuous: the fault pause on c1 at 0.500 s did not take effect"},
		{"a fault that met nothing", func(s *story) { s.counted(500, 600, 0, history.Fault{Kind: "cut"}) },
			"vacuous: the fault cut on c1-n1 at 0.500 s affected nothing"},
		{"a pause of a client that had nothing to do", func(s *story) { s.lasting(2000, 2100, "pause", "c3") },
			"vacuous: the fault pause on c3 at 2.000 s affected nothing"},
		{"a kill of a client in the middle of its release", func(s *story) {
			s.add(1500, history.Event{Process: "c1", Type: history.TypeInvoke, Op: history.OpRelease, ID: 2, Key: "k1",
				Lease: 1})
			s.instant(1501, "kill", "c1")
		}, ""},
		{"a pause of a node, to which messages set out on links that were cut", func(s *story) {
			s.lasting(0, 900, "cut", "c1-n5")
			s.lasting(0, 900, "cut", "c2-n5")
			s.counted(500, 600, 2, history.Fault{Kind: "pause", Targets: []string{"n5"}})
		}, "vacuous: the fault pause on n5 at 0.500 s affected nothing"},
		{"a pause of a node, to which messages set out", func(s *story) {
			s.lasting(0, 900, "cut", "c2-n5")
			s.counted(500, 600, 2, history.Fault{Kind: "pause", Targets: []string{"n5"}})
		}, ""},
		{"a fault that met nothing counts for none", func(s *story) {
			s.header.Earned.Faults = 1
			s.counted(500, 600, 0, history.Fault{Kind: "cut", Random: true})
		}, "vacuous: no fault affected a lease or an acquire"},
		{"a drawn fault that met nothing beside one that did", func(s *story) {
			s.header.Earned.Faults = 1
			s.counted(500, 600, 0, history.Fault{Kind: "cut", Random: true})
			s.counted(700, 800, 3, history.Fault{Kind: "cut", Random: true})
		}, ""},
		{"a part of the setting that met nothing", func(s *story) {
			s.counted(500, 600, 0, history.Fault{Kind: "cut", Background: true})
		}, ""},
		{"a link that a step healed before its cut was told to have met nothing", func(s *story) {
			s.instant(550, "heal", "c1-n1")
			s.counted(500, 600, 0, history.Fault{Kind: "cut"})
		}, "vacuous: the fault cut on c1-n1 at 0.500 s affected nothing"},
		{"a flush of an empty node", func(s *story) {
			s.instant(500, "flush", "n1")
			s.events[len(s.events)-1].Fault.Affected = new(int)
		}, "vacuous: the fault flush on n1 at 0.500 s affected nothing"},
		{"a fault whose end shows that it did not take effect", func(s *story) {
			s.fault(500, "pause", history.PhaseBegin, 1, "c1")
			s.inVain(600, history.PhaseEnd)
		}, "vacuous: the fault pause on c1 at 0.600 s did not take effect"},
		{"a fault of the setting", func(s *story) {
			s.header.Earned.Faults = 1
			s.inSetup("cut", "c1-n1")
		}, "vacuous: no fault"},
		{"a step that did not come out", func(s *story) {
			s.add(500, history.Event{Type: history.TypeNote, Reason: history.ReasonPreconditionFailed,
				Text: "line 7: c2 had to get the lock"})
		}, "vacuous: line 7: c2 had to get the lock"},
		{"nothing refused", func(s *story) { s.header.Earned.Refused = 1 }, "vacuous: no acquire or extension was " +
			"refused"},
		{"a refused extension", func(s *story) {
			s.header.Earned.Refused = 1
			s.op(100, 110, history.TypeFail, history.Event{Process: "c1", Op: history.OpExtend, Lease: 1})
		}, ""},
		{"a node that gives one key to two", func(s *story) {
			s.sets(100, "c1", "a", 1000, "n1")
			s.sets(200, "c2", "b", 1000, "n1")
		}, "contradicted: event "},
		{"an operation is missing", func(s *story) {
			s.ids["c1"]++
			s.grant("c1", 9, 10, 0)
		}, "unfinished: the history has only 2 of c1's first 3 operations"},
		{"cut short", func(s *story) { s.cut = true }, "unfinished: the history has no end line, and stops at 0.010 s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			s.grant("c1", 0, 10, 900)
			test.tell(s)
			verdict := history.Inconclusive
			if test.reason == "" {
				verdict = history.Holds
			}
			s.requireVerdict(t, MutualExclusion, verdict, test.reason)
		})
	}
}

func TestVacuity_OfViolations(t *testing.T) {
	requireVerdicts(t, MutualExclusion, []storyCase{
		{"a violation is neither vacuous nor unfinished", func(s *story) {
			s.header.Earned = history.Earned{Grants: 100, Contended: 100, Faults: 100}
			s.cut = true
			s.inVain(1, history.PhaseBegin)
			s.grant("c2", 0, 20, 900)
		}, history.Violated, ""},
		{"a missing operation may be the release of the first lease", func(s *story) {
			s.ids["c1"]++
			s.grant("c1", 1000, 1010, 900)
			s.grant("c2", 20, 30, 900)
		}, history.Inconclusive, "unfinished: the history has only 2 of c1's first 3 operations"},
	}, func(s *story) { s.grant("c1", 0, 10, 900) })
}

// Without a limit, no stall spoils a run. A stall at the limit does.
func TestStalls(t *testing.T) {
	paused := func(from, until int64, client string) func(*story) {
		return func(s *story) { s.lasting(from, until, "pause", client) }
	}
	limit := func(limit int64) func(*story) { return func(s *story) { s.header.StallLimit = limit * ms } }
	for _, test := range []struct {
		name    string
		tell    func(*story)
		stalled bool
	}{
		{"held up", func(*story) {}, true},
		{"at the limit", limit(131), true},
		{"below the limit", limit(132), false},
		{"no limit", limit(0), false},
		{"in virtual time nothing is held up", func(s *story) { s.header.RealTime = false }, false},
		{"a pause that was asked for", paused(1100, 1200, "c2"), false},
		{"a pause that lasted for most of it", paused(1090, 1125, "c2"), false},
		{"a pause that lasted for some of it", paused(1090, 1100, "c2"), true},
		{"the pause of another", paused(1100, 1200, "c1"), true},
		{"a pause that was not seen until later", func(s *story) { s.seen(1100, 1210, "pause", "c2") }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			s.header.RealTime, s.header.StallLimit = true, 100*ms
			s.header.Expect[FaultTolerance] = history.Holds
			s.grant("c1", 0, 10, 900)
			s.grant("c3", 0, 20, 900)
			s.add(1203, history.Event{Process: "c2", Type: history.TypeStall, Late: 131 * ms})
			test.tell(s)
			if !test.stalled {
				s.requireVerdict(t, MutualExclusion, history.Violated, "")
				return
			}
			s.requireVerdict(t, MutualExclusion, history.Inconclusive, "stalled: c2 was held up for 131 ms at 1.203 s")
			s.requireVerdict(t, FaultTolerance, history.Inconclusive, "stalled: ")
			s.requireVerdict(t, Fencing, history.Inconclusive, "vacuous: ")
		})
	}
}

// The linear count of contended acquires agrees with a comparison of all pairs.
func TestContended_AgreesWithBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var k keyed
		for range rapid.IntRange(0, 25).Draw(t, "claims") {
			client := fmt.Sprint("c", rapid.IntRange(1, 3).Draw(t, "client"))
			from := rapid.Int64Range(0, 60).Draw(t, "from")
			until := from + rapid.Int64Range(1, 15).Draw(t, "length")
			if rapid.Bool().Draw(t, "lease") {
				k.leases = append(k.leases, lease{client: client, span: span{from, until}})
			} else {
				k.acquires = append(k.acquires, &operation{process: client, invoked: from, done: until})
			}
		}
		want := 0
		for i, a := range k.acquires {
			met := false
			for j, b := range k.acquires {
				met = met || i != j && a.process != b.process && a.invoked < b.done && b.invoked < a.done
			}
			for _, l := range k.leases {
				met = met || a.process != l.client && a.invoked < l.until && l.from < a.done
			}
			if met {
				want++
			}
		}
		require.Equal(t, want, k.contended(true))
	})
}

// spansWeighing and without agree with a check of every moment.
func TestSpans_AgreeWithBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) span {
			from := rapid.Int64Range(0, 30).Draw(t, name)
			return span{from, from + rapid.Int64Range(0, 10).Draw(t, name+" length")}
		}
		sets := make([][]span, rapid.IntRange(1, 4).Draw(t, "sets"))
		for i := range sets {
			for range rapid.IntRange(0, 4).Draw(t, "spans") {
				sets[i] = append(sets[i], draw("span"))
			}
		}
		k := rapid.IntRange(1, len(sets)).Draw(t, "k")
		var all []weighted
		for _, set := range sets {
			for _, s := range union(set) {
				all = append(all, weighted{s, 1})
			}
		}
		stops, whole := spansWeighing(int64(k), all), draw("whole")
		left := whole.without(stops)
		for i, s := range stops {
			require.Positive(t, s.length())
			require.False(t, i > 0 && stops[i-1].until >= s.from, "what touches is one stretch: %v", stops)
		}
		for _, s := range left {
			require.Positive(t, s.length())
		}
		for moment := int64(0); moment < 45; moment++ {
			depth := 0
			for _, set := range sets {
				if inside(moment, set) {
					depth++
				}
			}
			require.Equal(t, depth >= k, inside(moment, stops), "moment %d", moment)
			want := depth < k && inside(moment, []span{whole})
			require.Equal(t, want, inside(moment, left), "moment %d", moment)
		}
	})
}

func inside(moment int64, spans []span) bool {
	for _, s := range spans {
		if s.from <= moment && moment < s.until {
			return true
		}
	}
	return false
}

// A lock that refuses its settings contacts no node: a client that is granted the lock then has no contention.
func TestContended_RefusedSettings_DoNotCount(t *testing.T) {
	s := newStory()
	s.header.Earned.Contended = 1
	s.op(0, 40, history.TypeFail, history.Event{Process: "c2", Op: history.OpAcquire, Key: "k1",
		Reason: history.ReasonRefused})
	s.grant("c1", 20, 30, 500)
	s.requireVerdict(t, MutualExclusion, history.Inconclusive, reasonNoContention)
	s.requireVerdict(t, DeadlockFreedom, history.Inconclusive,
		"vacuous: no client acquired a lock that another had used before")
}

// A script that stopped early shows neither that a property holds nor that a fault was harmless.
func TestUnmet_IsReportedWithViolationsAndVacuousVerdicts(t *testing.T) {
	const unmet = "c2 was to wait"
	s := newStory()
	s.grant("c1", 0, 10, 900)
	s.add(11, history.Event{Process: "harness", Type: history.TypeNote, Reason: history.ReasonPreconditionFailed,
		Text: unmet})
	free := s.requireVerdict(t, DeadlockFreedom, history.Inconclusive,
		"vacuous: no client acquired a lock that another had used before")
	require.Equal(t, unmet, free.Unmet, "c2 might have acquired it")
	s.grant("c2", 15, 20, 900)
	require.Equal(t, unmet, s.requireVerdict(t, MutualExclusion, history.Violated, "").Unmet)
	require.Equal(t, unmet, s.requireVerdict(t, FaultTolerance, history.Inconclusive, "vacuous: "+unmet).Unmet)
}
