package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

func TestDeadlockFreedom(t *testing.T) {
	keeps := func(s *story, wanted int64) { // c1 keeps it for longer than the bound; c2 has wanted it since then
		s.header.Bounds.Tenure = 3000 * ms
		s.extend("c1", s.grant("c1", 0, 10, 900), 500, 510, 4000)
		s.grant("c2", wanted, 4600, 900)
	}
	takesOver := func(s *story, ttl int64) { // c2 takes c1's key, which has no expiry where the TTL is 0
		s.sets(5, "c1", "c1.1", ttl, "n1")
		s.grant("c1", 0, 10, 900)
		s.command(950, "c2>n1", history.Command{Name: "GETSET", Key: "k1", Token: "c2.1", Effect: history.EffectSet,
			Unconditional: true})(950, "c1.1", true)
	}
	requireVerdicts(t, DeadlockFreedom, []storyCase{
		{"granted just in time", func(s *story) {
			s.killedHolder(1000)
			s.grant("c2", 200, 1700, 900)
		}, history.Holds, ""},
		{"gave up before the bound", func(s *story) {
			s.attempt("c2", 200, 1600, history.TypeFail)
		}, history.Inconclusive, "vacuous: no client"},
		{"a lease runs out long before its key does", func(s *story) {
			s.header.Bounds.Free = 500 * ms
			s.holder(1000, 400)
			s.grant("c2", 20, 1010, 900)
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
		{"also one with an unknown outcome", func(s *story) {
			s.attempt("c1", 0, 1400, history.TypeInfo)
			s.grant("c2", 10, 2000, 900)
			s.grant("c3", 2100, 3000, 900)
		}, history.Holds, ""},
		{"nor do rivals that are refused and ask anew make it begin anew", func(s *story) {
			s.killedHolder(100_000)
			s.asksAgain("c2", 200, 2300, 100)
			s.asksAgain("c3", 250, 2350, 100)
		}, history.Violated, ""},
		{"the wait begins anew when another dies and leaves its keys", func(s *story) {
			s.killedHolder(100_000)
			s.asksAgain("c2", 200, 2300, 100)
			s.sets(1100, "c3", "c3.1", 1000, majority...)
			s.attempt("c3", 1050, 0, "")
			s.instant(1150, "kill", "c3")
		}, history.Inconclusive, "vacuous: no client"},
		{"whoever waits prolongs the keys of one that was killed", func(s *story) {
			s.killedHolder(100_000)
			s.asksAgain("c2", 200, 2300, 100)
			for t := int64(200); t < 2300; t += 100 {
				s.extends(t, "c2", "c1.1", 1000, majority...)
			}
		}, history.Violated, ""},
		{"an attempt that goes on and on is no excuse", func(s *story) {
			s.attempt("c1", 0, 5000, history.TypeFail)
			s.grant("c2", 10, 2000, 900)
		}, history.Violated, ""},
		{"nodes out of reach by the setting are no fault", func(s *story) {
			s.cutInSetupSent("c2-n1")
			s.cutInSetupSent("c2-n2")
			s.grant("c2", 200, 5000, 900)
		}, history.Violated, ""},
		{"a majority cut off for ever shows nothing", func(s *story) {
			s.fault(100, "cut", history.PhaseBegin, 1, links("c2")...)
			s.attempt("c2", 200, 5000, history.TypeFail)
		}, history.Inconclusive, "vacuous: no client"},
		{"another's cut links are no excuse", func(s *story) {
			s.fault(100, "cut", history.PhaseBegin, 1, links("c1")...)
			s.attempt("c2", 200, 5000, history.TypeFail)
		}, history.Violated, ""},
		{"another's key that lingers is something to wait for", func(s *story) {
			s.sets(5, "c1", "t1", 1000, majority...)
			s.attempt("c1", 0, 10, history.TypeFail)
			s.grant("c2", 200, 1020, 900)
		}, history.Holds, ""},
		{"nor are its own keys of earlier rounds, with the token that it is granted in the end", func(s *story) {
			s.silent(15, "c1", "t1", majority...)
			s.attempt("c1", 0, 10, history.TypeFail)
			for t := int64(300); t < 2900; t += 200 {
				s.sets(t, "c2", "t2", 1000, "n4", "n5")
				s.deletes(t+10, "c2", "t2", "n4", "n5")
			}
			s.sets(2995, "c2", "t2", 1000, "n3", "n4", "n5")
			s.op(200, 3000, history.TypeOK, history.Event{Process: "c2", Op: history.OpAcquire, Key: "k1", Token: "t2",
				Validity: 900 * ms})
		}, history.Violated, ""},
		{"kept for too long while nobody else wanted it", func(s *story) { keeps(s, 2000) }, history.Holds, ""},
		{"kept for too long while another waits out of reach of a majority", func(s *story) {
			s.lasting(500, 4000, "cut", links("c2")...)
			keeps(s, 20)
		}, history.Holds, ""},
		{"kept for too long while another waits, for a moment out of reach", func(s *story) {
			s.lasting(2000, 2100, "cut", links("c2")...)
			keeps(s, 20)
		}, history.Violated, ""},
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
	})
	requireVerdicts(t, DeadlockFreedom, []storyCase{
		{"granted too late after a crashed holder", func(s *story) {
			s.instant(100, "kill", "c1")
			s.grant("c2", 200, 1701, 900)
		}, history.Violated, "c2 had tried since 0.200 s and acquired it at the end"},
		{"never granted", func(s *story) {
			s.attempt("c2", 200, 0, "")
			s.add(3000, history.Event{Type: history.TypeNote})
		}, history.Violated, `c2 waited 2.090 s (limit 1.500 s) for "k1", from 0.910 s to 3.000 s, although no client ` +
			`held it and c2 reached a majority of its nodes; c2 had tried since 0.200 s and was still waiting`},
		{"still waiting, but the history ends before the bound", func(s *story) {
			s.attempt("c2", 200, 0, "")
			s.add(2000, history.Event{Type: history.TypeNote})
		}, history.Inconclusive, "vacuous: no client"},
		{"a killed client waits no longer", func(s *story) {
			s.attempt("c2", 200, 0, "")
			s.instant(300, "kill", "c2")
			s.grant("c3", 400, 1000, 900)
			s.add(9000, history.Event{Type: history.TypeNote})
		}, history.Holds, ""},
		{"another's cut links excuse, if one brings a late command", func(s *story) {
			s.fault(100, "cut", history.PhaseBegin, 1, links("c1")...)
			s.grant("c2", 200, 3500, 900)
			s.instant(2100, "heal", links("c1")...)
			s.sets(2110, "c1", "t9", 1000, majority...)
		}, history.Holds, ""},
		{"a paused client does not wait", func(s *story) {
			s.grant("c2", 200, 5000, 900)
			s.lasting(300, 4500, "pause", "c2")
		}, history.Holds, ""},
		{"no bound", func(s *story) { s.header.Bounds.Free = 0 }, history.Inconclusive, "vacuous: the history sets no bound"},
		{"a key without an expiry is left",
			func(s *story) { s.look(2000, "n1", "r1", "c1.1", -1) }, history.Inconclusive, "on n1 has no expiry"},
		{"a key without an expiry that was gone in the end", func(s *story) {
			s.grant("c2", 20, 1000, 900)
			s.look(20, "n1", "r1", "c1.1", -1)
			s.commands(1990, "c3", "DEL", "", 0, history.EffectDelete, []string{"n1"})
			s.look(2000, "n1", "r1", "", 0)
		}, history.Holds, ""},
	}, func(s *story) { s.grant("c1", 0, 10, 900) })
}

// killedHolder kills c1 while it holds the lock; its keys stay.
func (s *story) killedHolder(expiry int64) {
	s.holder(expiry, 900)
	s.instant(100, "kill", "c1")
}

// A node's clock that is set during a wait gives its keys another time to live: the lock may need its time again.
// Faults that affected no wait are not reported.
func TestWait_NodeClockSetMeanwhile_RestartsTheBound(t *testing.T) {
	late := func(granted int64, set func(*story)) func(*story) {
		return func(s *story) { s.killedHolder(1000); set(s); s.grant("c2", 200, granted, 900) }
	}
	back := func(s *story) { s.setClocks(800, 0, 1, majority...) }
	slow := func(s *story) { s.setClocks(800, 800, 0.1, majority...) }
	requireVerdicts(t, DeadlockFreedom, []storyCase{
		{"set back", late(1850, back), history.Holds, ""},
		{"set back, and granted even later", late(2350, back), history.Violated,
			"no client held it and c2 reached a majority of its nodes"},
		{"not set", late(1850, func(*story) {}), history.Violated, ""},
		{"slowed down", late(2850, slow), history.Holds, ""},
	})
	s := newStory()
	late(2350, back)(s)
	r := s.judged(t, DeadlockFreedom)
	v := r.Violations[0]
	require.Contains(t, v.Facts[len(v.Facts)-1].What, "n1, n2 and n3", "the clocks are told of: %v", v.Facts)
	require.Equal(t, v.Until-v.From, r.Measured["longest_free"])
}
