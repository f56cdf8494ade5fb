package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

func TestDeadlockFreedom(t *testing.T) {
	takesOver := func(s *story, ttl int64) { // c2 takes c1's key, which has no expiry where the TTL is 0
		s.sets(5, "c1", "c1.1", ttl, "n1")
		s.grant("c1", 0, 10, 900)
		s.command(950, "c2>n1", history.Command{Name: "GETSET", Key: "k1", Token: "c2.1", Effect: history.EffectSet,
			Unconditional: true})(950, "c1.1", true)
	}
	requireVerdicts(t, DeadlockFreedom, []storyCase{
		{"granted too late after a crashed holder", func(s *story) {
			s.grant("c1", 0, 10, 900)
			s.instant(100, "kill", "c1")
			s.grant("c2", 200, 1701, 900)
		}, history.Violated, ""},
		{"granted just in time", func(s *story) {
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			s.grant("c1", 0, 10, 900)
			s.instant(100, "kill", "c1")
			s.grant("c2", 200, 1700, 900)
		}, history.Holds, ""},
		{"never granted", func(s *story) {
			s.grant("c1", 0, 10, 900)
			s.attempt("c2", 200, 0, "")
			s.add(3000, history.Event{Type: history.TypeNote})
		}, history.Violated, ""},
		{"still waiting, but the history ends before the bound", func(s *story) {
			s.grant("c1", 0, 10, 900)
			s.attempt("c2", 200, 0, "")
			s.add(2000, history.Event{Type: history.TypeNote})
		}, history.Inconclusive, "vacuous: no client"},
		{"gave up before the bound", func(s *story) {
			s.attempt("c2", 200, 1600, history.TypeFail)
		}, history.Inconclusive, "vacuous: no client"},
		{"a lease runs out long before its key does", func(s *story) {
			s.header.Bounds.Free = 500 * ms
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			s.grant("c1", 0, 10, 400)
			s.grant("c2", 20, 1010, 900)
		}, history.Holds, ""},
		{"a killed client waits no longer", func(s *story) {
			s.grant("c1", 0, 10, 900)
			s.attempt("c2", 200, 0, "")
			s.instant(300, "kill", "c2")
			s.grant("c3", 400, 1000, 900)
			s.add(9000, history.Event{Type: history.TypeNote})
		}, history.Holds, ""},
		{"a holder that keeps it is no deadlock", func(s *story) {
			s.extend("c1", s.grant("c1", 0, 10, 900), 500, 510, 5000)
			s.grant("c2", 200, 6000, 900)
		}, history.Holds, ""},
		{"the wait begins anew when another's attempt ends", func(s *story) {
			s.attempt("c1", 0, 1400, history.TypeFail)
			s.grant("c2", 10, 2000, 900)
			s.grant("c3", 2100, 3000, 900)
		}, history.Holds, ""},
		{"nor do rivals that are refused and ask anew make it begin anew", func(s *story) {
			s.killedHolder()
			for t := int64(200); t < 2300; t += 100 {
				s.attempt("c2", t, t+20, history.TypeFail)
				s.attempt("c3", t+50, t+70, history.TypeFail)
			}
		}, history.Violated, ""},
		{"the wait begins anew when another dies and leaves its keys", func(s *story) {
			s.killedHolder()
			for t := int64(200); t < 2300; t += 100 {
				s.attempt("c2", t, t+20, history.TypeFail)
			}
			s.sets(1100, "c3", "c3.1", 1000, "n1", "n2", "n3")
			s.attempt("c3", 1050, 0, "")
			s.instant(1150, "kill", "c3")
		}, history.Inconclusive, "vacuous: no client"},
		{"whoever waits prolongs the keys of one that was killed", func(s *story) {
			s.killedHolder()
			for t := int64(200); t < 2300; t += 100 {
				s.attempt("c2", t, t+20, history.TypeFail)
				s.extends(t+10, "c2", "c1.1", 1000, "n1", "n2", "n3")
			}
		}, history.Violated, ""},
		{"an attempt that goes on and on is no excuse", func(s *story) {
			s.attempt("c1", 0, 5000, history.TypeFail)
			s.grant("c2", 10, 2000, 900)
		}, history.Violated, ""},
		{"a majority that is down is", func(s *story) {
			s.lasting(100, 4000, "kill", "n1", "n2", "n3")
			s.grant("c2", 200, 5000, 900)
		}, history.Holds, ""},
		{"a minority that is down is no excuse", func(s *story) {
			s.instant(100, "kill", "n1", "n2")
			s.grant("c2", 200, 5000, 900)
		}, history.Violated, ""},
		{"nodes out of reach by the setting are no fault", func(s *story) {
			s.cutInSetupSent("c2-n1")
			s.cutInSetupSent("c2-n2")
			s.grant("c2", 200, 5000, 900)
		}, history.Violated, ""},
		{"a majority cut off for ever shows nothing", func(s *story) {
			s.fault(100, "cut", history.PhaseBegin, 1, "c2-n1", "c2-n2", "c2-n3")
			s.attempt("c2", 200, 5000, history.TypeFail)
		}, history.Inconclusive, "vacuous: no client"},
		{"another's cut links are no excuse", func(s *story) {
			s.fault(100, "cut", history.PhaseBegin, 1, "c1-n1", "c1-n2", "c1-n3")
			s.attempt("c2", 200, 5000, history.TypeFail)
		}, history.Violated, ""},
		{"unless it brings a late command", func(s *story) {
			s.fault(100, "cut", history.PhaseBegin, 1, "c1-n1", "c1-n2", "c1-n3")
			s.grant("c1", 0, 10, 900)
			s.grant("c2", 200, 3500, 900)
			s.instant(2100, "heal", "c1-n1", "c1-n2", "c1-n3")
			s.sets(2110, "c1", "t9", 1000, "n1", "n2", "n3")
		}, history.Holds, ""},
		{"a paused client does not wait", func(s *story) {
			s.grant("c1", 0, 10, 900)
			s.grant("c2", 200, 5000, 900)
			s.lasting(300, 4500, "pause", "c2")
		}, history.Holds, ""},
		{"no bound", func(s *story) {
			s.header.Bounds.Free = 0
			s.grant("c1", 0, 10, 900)
		}, history.Inconclusive, "vacuous: the history sets no bound"},
		{"another's key that lingers is something to wait for", func(s *story) {
			s.sets(5, "c1", "t1", 1000, "n1", "n2", "n3")
			s.attempt("c1", 0, 10, history.TypeFail)
			s.grant("c2", 200, 1020, 900)
		}, history.Holds, ""},
		{"nor are its own keys of earlier rounds, with the token that it is granted in the end", func(s *story) {
			for _, node := range []string{"n1", "n2", "n3"} {
				s.silent(15, "c1", "t1", node)
			}
			s.attempt("c1", 0, 10, history.TypeFail)
			for t := int64(300); t < 2900; t += 200 {
				s.sets(t, "c2", "t2", 1000, "n4", "n5")
				s.deletes(t+10, "c2", "t2", "n4", "n5")
			}
			s.sets(2995, "c2", "t2", 1000, "n3", "n4", "n5")
			s.op(200, 3000, history.TypeOK, history.Event{Process: "c2", Op: history.OpAcquire, Key: "k1", Token: "t2",
				Validity: 900 * ms})
		}, history.Violated, ""},
		{"kept for too long while nobody else wanted it", func(s *story) {
			s.header.Bounds.Tenure = 3000 * ms
			s.extend("c1", s.grant("c1", 0, 10, 900), 500, 510, 4000)
			s.grant("c2", 2000, 4600, 900)
		}, history.Holds, ""},
		{"kept for too long while another waits out of reach of a majority", func(s *story) {
			s.header.Bounds.Tenure = 3000 * ms
			s.lasting(500, 4000, "cut", "c2-n1", "c2-n2", "c2-n3")
			s.extend("c1", s.grant("c1", 0, 10, 900), 500, 510, 4000)
			s.grant("c2", 20, 4600, 900)
		}, history.Holds, ""},
		{"kept for too long while another waits, for a moment out of reach", func(s *story) {
			s.header.Bounds.Tenure = 3000 * ms
			s.lasting(2000, 2100, "cut", "c2-n1", "c2-n2", "c2-n3")
			s.extend("c1", s.grant("c1", 0, 10, 900), 500, 510, 4000)
			s.grant("c2", 20, 4600, 900)
		}, history.Violated, ""},
		{"a key without an expiry is left", func(s *story) {
			s.grant("c1", 0, 10, 900)
			s.look(2000, "n1", "r1", "c1.1", -1)
		}, history.Inconclusive, "on n1 has no expiry"},
		{"a key without an expiry is left, and such a one was taken over", func(s *story) {
			takesOver(s, 0)
			s.grant("c2", 20, 1000, 900)
			s.look(2000, "n1", "r1", "c2.1", -1)
		}, history.Holds, ""},
		{"the one that was taken over had an expiry", func(s *story) {
			takesOver(s, 2000)
			s.grant("c2", 20, 1000, 900)
			s.look(2000, "n1", "r1", "c2.1", -1)
		}, history.Inconclusive, "on n1 has no expiry"},
		{"it was taken over by nobody who was granted the lock", func(s *story) {
			takesOver(s, 0)
			s.attempt("c2", 20, 1000, history.TypeFail)
			s.grant("c2", 1010, 1020, 900)
			s.look(2000, "n1", "r1", "c2.1", -1)
		}, history.Inconclusive, "on n1 has no expiry"},
		{"a key without an expiry that was gone in the end", func(s *story) {
			s.grant("c1", 0, 10, 900)
			s.grant("c2", 20, 1000, 900)
			s.look(20, "n1", "r1", "c1.1", -1)
			s.commands(1990, "c3", "DEL", "", 0, history.EffectDelete, []string{"n1"})
			s.look(2000, "n1", "r1", "", 0)
		}, history.Holds, ""},
	})
}

// killedHolder kills c1 while it holds the lock; its keys stay.
func (s *story) killedHolder() {
	s.sets(5, "c1", "c1.1", 100000, "n1", "n2", "n3")
	s.grant("c1", 0, 10, 900)
	s.instant(100, "kill", "c1")
}

// A node's clock that is set during a wait gives its keys another time to live: the lock may need its time again.
// Faults that affected no wait are not reported.
func TestWait_NodeClockSetMeanwhile_RestartsTheBound(t *testing.T) {
	nodes := []string{"n1", "n2", "n3"}
	late := func(granted int64, set func(*story, string)) *story {
		s := newStory()
		s.sets(5, "c1", "c1.1", 1000, nodes...)
		s.grant("c1", 0, 10, 900)
		s.instant(100, "kill", "c1")
		for _, n := range nodes {
			set(s, n)
		}
		s.grant("c2", 200, granted, 900)
		return s
	}
	back := func(s *story, n string) {
		s.instant(800, "clock", n)
		s.clock(800, n, 0, 1, true)
	}
	late(1850, back).requireVerdict(t, DeadlockFreedom, history.Holds, "")
	late(2350, back).requireVerdict(t, DeadlockFreedom, history.Violated, "")
	late(1850, func(*story, string) {}).requireVerdict(t, DeadlockFreedom, history.Violated, "")
	slow := func(s *story, n string) {
		s.instant(800, "clock", n)
		s.clock(800, n, 800, 0.1, true)
	}
	late(2850, slow).requireVerdict(t, DeadlockFreedom, history.Holds, "")
	v := late(2350, back).judged(t, DeadlockFreedom).Violations[0]
	require.Contains(t, v.What, "no client held it and c2 reached a majority of its nodes")
	require.Contains(t, v.Facts[len(v.Facts)-1].What, "n1, n2 and n3", "the clocks are told of: %v", v.Facts)
}
