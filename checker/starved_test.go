package checker

import (
	"testing"

	"example.org/lockproof/harness/history"
)

// starves lets a client's timers be late, of which so many were due.
func (s *story) starves(from, until int64, late int, client string) {
	s.counted(from, until, late, history.Fault{Kind: "starve", Class: history.ClientStarved, Targets: []string{client}})
}

func TestStarvedClient(t *testing.T) {
	for _, c := range []struct {
		name, property, verdict, reason string
		tell                            func(s *story)
	}{
		{"nothing late is a fault in vain", MutualExclusion, history.Inconclusive, "met nothing", func(s *story) {
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
		{"a late retry tests no lock that nobody held", DeadlockFreedom, history.Inconclusive, "had been in use",
			func(s *story) {
				s.grant("c2", 200, 5000, 900)
				s.starves(300, 4900, 1, "c2")
			}},
		{"a late grant is none in time", FaultTolerance, history.Inconclusive, "nobody asked for a free lock",
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
			s := tale()
			c.tell(s)
			s.requireVerdict(t, c.property, c.verdict, c.reason)
		})
	}
}
