package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// The SETs of c1 reach three nodes, and are never answered; c2 is refused, and waits: for a key that
// is in the way, if c1 can do nothing about it, or in vain.
func TestUnansweredSets(t *testing.T) {
	const nobody = "" // is killed
	pause := func(s *story, node string) { s.lasting(1, 2900, "pause", node) }
	cut := func(client string, direction history.Direction) func(*story, string) {
		return func(s *story, node string) {
			s.during(1, 900, history.Fault{Kind: "cut", Targets: []string{client + "-" + node},
				Asked: history.Asked{Direction: direction}})
		}
	}
	for _, c := range []struct {
		name     string
		fault    func(s *story, node string) // on the way of the SETs
		sent     int64
		killed   string
		refused  int64
		refusal  string
		from, to int64 // in which c2 asks
		excused  bool
	}{
		{"of a client that is killed they are in the way", nil, 1, "c1", 20, "c1.1", 10, 1000, true},
		{"of one that lives on they are its own to clear away", nil, 1, nobody, 960, "c1.1", 950, 2000, false},
		{"what another refusal names is not theirs", nil, 1, "c1", 20, "c3.1", 10, 1000, false},
		{"they are carried out when the node runs on", pause, 2, "c1", 3100, "c1.1", 3050, 4000, true},
		{"also where their client only has no lease any more", pause, 2, nobody, 2951, "c1.1", 2900, 4000, true},
		{"unless their answers may still come", pause, 2, nobody, 2950, "c1.1", 2900, 4000, false},
		{"they are carried out when their link is healed", cut("c1", "both"), 2, "c1", 960, "c1.1", 950, 3700, true},
		{"in both directions, or in theirs", cut("c1", "to-node"), 2, "c1", 960, "c1.1", 950, 3700, true},
		{"and at once where only the way back was", cut("c1", "to-client"), 2, "c1", 960, "c1.1", 950, 3700, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, nodes := tale(), []string{"n1", "n2", "n3"}
			if c.killed == nobody {
				s.grant("c1", 0, 10, 900)
			} else {
				s.attempt("c1", 0, 0, "")
				s.instant(3, "kill", c.killed)
			}
			for _, n := range nodes {
				if c.fault != nil {
					c.fault(s, n)
				}
				s.silent(c.sent, "c1", "c1.1", n)
			}
			s.refused(c.refused, "c2", "c2.1", c.refusal, nodes...)
			s.attempt("c2", c.from, c.to, history.TypeFail)
			if c.excused {
				s.requireVerdict(t, FaultTolerance, history.Inconclusive, "vacuous: nobody asked for a free lock")
			} else {
				s.requireVerdict(t, FaultTolerance, history.Violated, "")
			}
		})
	}
}

// A script refuses by a number in place of nil, which names nobody unless it is somebody's token.
func TestUnansweredSets_ANumberNamesNobody(t *testing.T) {
	for reply, verdict := range map[string]string{"0": history.Inconclusive, "-1": history.Inconclusive,
		"7": history.Violated} {
		t.Run(reply, func(t *testing.T) {
			s, nodes := tale(), []string{"n1", "n2", "n3"}
			s.sets(0, "c3", "7", 5, nodes...)
			s.attempt("c1", 0, 0, "")
			s.instant(3, "kill", "c1")
			for _, n := range nodes {
				s.silent(1, "c1", "c1.1", n)
				s.command(20, "c2>"+n, history.Command{Name: "EVAL", Key: "k1", Token: "c2.1", Effect: history.EffectSet})(20,
					reply, false)
			}
			s.attempt("c2", 10, 1000, history.TypeFail)
			s.requireVerdict(t, FaultTolerance, verdict, "")
		})
	}
}

// The extension of a client that is killed reaches three nodes, and is never answered: its
// keys are there for longer than its last answer says.
func TestUnansweredExtensions(t *testing.T) {
	nodes := []string{"n1", "n2", "n3"}
	for name, c := range map[string]struct {
		at      int64 // when it reaches the nodes
		killed  string
		refusal string
		verdict string
	}{
		"of a client that is killed":        {1700, "c1", "c1.1", history.Holds},
		"that refusals do not name":         {1700, "c1", "nil", history.Holds},
		"of a client that lives":            {1700, "c3", "c1.1", history.Violated},
		"that comes when the keys are gone": {2300, "c1", "nil", history.Violated},
	} {
		t.Run(name, func(t *testing.T) {
			s := tale()
			s.grant("c1", 0, 10, 1900)
			s.sets(5, "c1", "c1.1", 2000, nodes...)
			s.instant(1500, "kill", c.killed)
			for _, n := range nodes {
				s.command(c.at, "c1>"+n, history.Command{Name: "EVAL", Key: "k1", Token: "c1.1",
					Expiry: 2000 * ms, Effect: history.EffectExtend})
			}
			for at := int64(2500); at < 3600; at += 100 {
				s.refused(at, "c2", "c2.1", c.refusal, nodes...)
			}
			s.grant("c2", 1800, 3710, 900)
			s.requireVerdict(t, FaultTolerance, c.verdict, "")
		})
	}
}

// A command of a client that was killed is carried out after its death: its key is in the way of
// others until it expires, and no longer; a grant that is told of then is no lease of anybody.
func TestWhatTheDeadHaveSentActsLater(t *testing.T) {
	nodes := []string{"n1", "n2", "n3"}
	late := func(granted int64) *story {
		s := tale()
		s.add(0, history.Event{Process: "c1", Type: history.TypeInvoke, Op: history.OpAcquire, ID: 1, Key: "k1"})
		s.instant(2, "kill", "c1")
		s.sets(400, "c1", "c1.1", 1000, nodes...)
		for at := int64(450); at < 1400; at += 100 {
			s.refused(at, "c2", "c2.1", "c1.1", nodes...)
		}
		s.grant("c2", 100, granted, 900)
		return s
	}
	late(1450).requireVerdict(t, FaultTolerance, history.Inconclusive, "vacuous: nobody asked for a free lock")
	late(1450).requireVerdict(t, DeadlockFreedom, history.Holds, "")
	late(1950).requireVerdict(t, FaultTolerance, history.Violated, "")
	late(1950).requireVerdict(t, DeadlockFreedom, history.Violated, "")

	s := tale()
	s.instant(20, "kill", "c1")
	s.grant("c1", 0, 30, 900)
	s.grant("c2", 40, 50, 900)
	s.requireVerdict(t, MutualExclusion, history.Holds, "")
	require.Len(t, s.judged(t, MutualExclusion).Violations, 0)
	require.EqualValues(t, 1, s.judged(t, MutualExclusion).Measured["grants"])
}

// Faults of one link, each of them shorter than a TTL, hold a command for longer if they follow on each other.
func TestHeldTooLong(t *testing.T) {
	const ms = int64(1_000_000)
	held := func(from, until int64) fault {
		return fault{class: history.LinkSlow, link: history.Link{From: "c1", To: "n1"}, span: span{from * ms, until * ms}}
	}
	for name, c := range map[string]struct {
		faults faults
		want   bool
	}{
		"one for a TTL":                        {faults{held(0, 1000)}, true},
		"one for less":                         {faults{held(400, 1000)}, false},
		"two in turn":                          {faults{held(0, 600), held(500, 1000)}, true},
		"three in turn":                        {faults{held(0, 400), held(300, 700), held(600, 1000)}, true},
		"two with the link free between them":  {faults{held(0, 400), held(600, 1000)}, false},
		"two in turn, and both long over then": {faults{held(0, 400), held(300, 900)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &record{header: history.Header{TTL: 1000 * ms}, faults: c.faults}
			require.Equal(t, c.want, r.heldTooLong("c1", "n1", 1000*ms))
		})
	}
}
