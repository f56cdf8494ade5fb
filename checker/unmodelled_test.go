package checker

import (
	"testing"

	"example.org/lockproof/harness/history"
)

// If a command has an unknown effect, it is unknown whether a release left the key, and whether a wait was excused. The
// clients' leases are no less certain, nor is the absence of long waits.
func TestUnknownCommand_OwnerIsUnknown(t *testing.T) {
	asked := func(s *story, t int64, c history.Command) func(int64, string, bool) { return s.command(t, "c1>n1", c) }
	told := func(s *story, t int64, c history.Command, reply string) { asked(s, t, c)(t, reply, true) }
	const why = `unknown: c1 sent n1 RENAMENX at 0.005 s, whose effect on "k1" is unknown`
	renames := history.Command{Name: "RENAMENX", Key: "mine", Others: []string{"k1"}}
	tests := []storyCase{
		{"it names the key", func(s *story) { told(s, 5, renames, "1") }, history.Inconclusive, why},
		{"it had no answer", func(s *story) { asked(s, 5, renames) }, history.Inconclusive, why},
		{"it was refused", func(s *story) { told(s, 5, renames, "error: ERR no such key") }, history.Holds, ""},
		{"it names others", func(s *story) {
			told(s, 5, history.Command{Name: "LPUSH", Key: "q", Others: []string{"a"}}, "1")
		}, history.Holds, ""},
		{"WAIT changes nothing", func(s *story) { told(s, 5, history.Command{Name: "WAIT"}, "1") }, history.Holds, ""},
		{"it may have changed all", func(s *story) { told(s, 5, history.Command{Name: "FLUSHALL"}, "OK") },
			history.Inconclusive, "unknown: c1 sent n1 FLUSHALL"},
		{"a script has it as well", func(s *story) {
			told(s, 5, history.Command{Name: "EVAL", Key: "q", Effect: history.EffectRead, Others: []string{"k1"}}, "1")
		}, history.Inconclusive, "unknown: c1 sent n1 EVAL"},
		{"the answer shows a deed", func(s *story) { asked(s, 5, history.Command{Name: "EVALSHA", Key: "k1"}); s.shown(6) },
			history.Holds, ""},
		{"the store's is no lock's", func(s *story) { s.stored("c1", "v", 5, 6) }, history.Holds, ""},
	}
	for _, property := range []string{FaultTolerance, MutualExclusion, DeadlockFreedom} {
		requireVerdicts(t, property, tests, func(s *story) {
			s.holder(1000, 900)
			s.grant("c2", 20, 1100, 900)
		})
		for i := range tests { // no other property depends on keys
			tests[i].verdict, tests[i].says = history.Holds, ""
		}
	}
	late := newStory()
	late.grant("c1", 0, 10, 900)
	late.grant("c2", 20, 4000, 900)
	late.grant("c3", 4100, 4110, 900)
	late.requireVerdict(t, MutualExclusion, history.Violated, "")
	late.requireVerdict(t, FaultTolerance, history.Violated, "")
	told(late, 5, renames, "1")
	late.requireVerdict(t, MutualExclusion, history.Violated, "")
	late.requireVerdict(t, FaultTolerance, history.Inconclusive, why)
	late.requireVerdict(t, DeadlockFreedom, history.Violated, "") // whatever it set has expired long before
	again := history.Command{Name: "GET", Key: "k1", Effect: history.EffectRead}
	told(late, 2500, again, "x")
	late.command(2500, "c2>n1", renames)(2500, "0", true) // its own
	late.requireVerdict(t, DeadlockFreedom, history.Violated, "")
	told(late, 2500, renames, "1")
	late.requireVerdict(t, DeadlockFreedom, history.Inconclusive, why)

	excused := newStory() // from the time at which a killed client set the key, if it did
	excused.header.Bounds.Free = 1100 * ms
	excused.sets(300, "c1", "t1", 1000, majority...)
	excused.attempt("c1", 290, 310, history.TypeInfo)
	excused.instant(305, "kill", "c1")
	excused.grant("c2", 200, 1320, 900)
	excused.requireVerdict(t, DeadlockFreedom, history.Holds, "")
	told(excused, 5, renames, "1")
	excused.requireVerdict(t, DeadlockFreedom, history.Inconclusive, why)

	behind := newStory() // a key that may linger: else no client had to wait
	behind.sets(5, "c1", "t1", 1000, majority...)
	behind.grant("c2", 200, 1020, 900)
	behind.requireVerdict(t, DeadlockFreedom, history.Holds, "")
	told(behind, 5, renames, "1")
	behind.requireVerdict(t, DeadlockFreedom, history.Inconclusive, "vacuous")
}

// If a key's owner is unknown, neither contention with a lease's leftover key nor a fault on its node earns a verdict.
func TestUnknownOwner_EarnsNoVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		tell   func(*story)
		reason string
	}{
		"contention": {func(s *story) { s.header.Earned.Contended = 1 }, reasonNoContention},
		"a fault": {func(s *story) {
			s.instant(1500, "kill", "n1")
			s.instant(1600, "start", "n1")
		}, "vacuous: the fault kill on n1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.holder(3000, 900)
			s.grant("c2", 2000, 2010, 900)
			c.tell(s)
			s.requireVerdict(t, MutualExclusion, history.Holds, "")
			s.command(5, "c1>n1", history.Command{Name: "RENAMENX", Key: "mine", Others: []string{"k1"}})(5, "1", true)
			s.requireVerdict(t, MutualExclusion, history.Inconclusive, c.reason)
		})
	}
}

// shown is the reply to the last command, a script, which shows its effect.
func (s *story) shown(t int64) {
	s.add(t, history.Event{Process: "c1>n1", Type: history.TypeReply, Command: &history.Command{Serial: s.serial,
		Name: "EVALSHA", Key: "k1", Token: "c1.1", Expiry: 1000 * ms, Effect: history.EffectExtend, Reply: "1", Done: true}})
}

// The keys of a lease that a transaction set are obstacles until they expire by their node's clock.
func TestUnseenKeys_ExpireByNodeClock(t *testing.T) {
	for jump, verdict := range map[int64]string{-2000: history.Holds, 0: history.Violated} {
		s := newStory()
		s.grant("c1", 0, 10, 900)
		s.setClocks(50, 50+jump, 1, s.header.Nodes...)
		s.instant(100, "kill", "c1")
		s.grant("c2", 200, 2900, 900)
		s.requireVerdict(t, FaultTolerance, verdict, "")
	}
}

// A lock may name its keys otherwise than its callers do. Then any key may exclude a client that waits.
func TestNameOfKey_Unknown_NoWaitIsLate(t *testing.T) {
	s := newStory()
	s.grant("c1", 0, 10, 900)
	s.grant("c2", 20, 4000, 900)
	s.requireVerdict(t, DeadlockFreedom, history.Violated, "")
	for _, key := range []string{"x1", "x2"} {
		s.command(5, "c1>n1", history.Command{Name: "SET", Key: key, Token: key, Expiry: 5000 * ms,
			Effect: history.EffectSet})(5, "OK", true)
	}
	s.requireVerdict(t, DeadlockFreedom, history.Inconclusive, "unknown")
}
