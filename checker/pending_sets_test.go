package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// TestUnansweredSets: the SETs of c1 reach three nodes, and are never answered; c2 is
// refused for as long as their keys last.
func TestUnansweredSets(t *testing.T) {
	contend := func(s *story) {
		nodes := []string{"n1", "n2", "n3"}
		for _, n := range nodes {
			s.silent(1, "c1", "c1.1", n)
		}
		for at := int64(20); at < 1000; at += 100 {
			s.refused(at, "c2", "c2.1", "c1.1", nodes...)
		}
		s.attempt("c2", 10, 1000, history.TypeFail)
	}
	t.Run("of a client that is killed they are in the way", func(t *testing.T) {
		s := tale()
		s.add(0, history.Event{Process: "c1", Type: history.TypeInvoke, Op: history.OpAcquire, ID: 1, Key: "k1"})
		s.instant(2, "kill", "c1")
		contend(s)
		s.requireVerdict(t, FaultTolerance, history.Inconclusive, "vacuous: nobody asked for a free lock")
	})
	t.Run("they are carried out when the node runs on", func(t *testing.T) {
		s := tale()
		s.add(0, history.Event{Process: "c1", Type: history.TypeInvoke, Op: history.OpAcquire, ID: 1, Key: "k1"})
		nodes := []string{"n1", "n2", "n3"}
		for _, n := range nodes {
			s.lasting(1, 2900, "pause", n)
			s.silent(2, "c1", "c1.1", n)
		}
		s.instant(3, "kill", "c1")
		for at := int64(3100); at < 4000; at += 100 {
			s.refused(at, "c2", "c2.1", "c1.1", nodes...)
		}
		s.attempt("c2", 3050, 4000, history.TypeFail)
		s.requireVerdict(t, FaultTolerance, history.Inconclusive, "vacuous: nobody asked for a free lock")
	})
	// A client that lives on has had a lease, which is over when the node runs on at 2900.
	lapsed := func(refusedAt int64, refusal string) *story {
		s := tale()
		s.grant("c1", 0, 10, 900)
		nodes := []string{"n1", "n2", "n3"}
		for _, n := range nodes {
			s.lasting(1, 2900, "pause", n)
			s.silent(2, "c1", "c1.1", n)
		}
		s.refused(refusedAt, "c2", "c2.1", refusal, nodes...)
		s.attempt("c2", 2900, 4000, history.TypeFail)
		return s
	}
	t.Run("of a lease that is over by then they are in the way", func(t *testing.T) {
		lapsed(2951, "c1.1").requireVerdict(t, FaultTolerance, history.Inconclusive, "vacuous: nobody asked for a free lock")
	})
	t.Run("unless their answers may still come", func(t *testing.T) {
		lapsed(2950, "c1.1").requireVerdict(t, FaultTolerance, history.Violated, "")
	})
	t.Run("or refusals do not name them", func(t *testing.T) {
		lapsed(2951, "nil").requireVerdict(t, FaultTolerance, history.Violated, "")
	})
	cut := func(client, direction string, sent int64) *story {
		s := tale()
		s.add(0, history.Event{Process: "c1", Type: history.TypeInvoke, Op: history.OpAcquire, ID: 1, Key: "k1"})
		nodes := []string{"n1", "n2", "n3"}
		for i, n := range nodes {
			f := history.Fault{ID: 10 + i, Kind: "cut", Phase: history.PhaseBegin, Targets: []string{client + "-" + n}, Effective: true,
				Requested: map[string]string{"direction": direction}}
			begin, end := f, f
			end.Phase = history.PhaseEnd
			s.add(1, history.Event{Process: "nemesis", Type: history.TypeFault, Fault: &begin})
			s.add(900, history.Event{Process: "nemesis", Type: history.TypeFault, Fault: &end})
			s.silent(sent, "c1", "c1.1", n)
		}
		s.instant(3, "kill", "c1")
		s.attempt("c2", 950, 3700, history.TypeFail)
		s.refused(960, "c2", "c2.1", "c1.1", nodes...)
		return s
	}
	t.Run("they are carried out when their link is healed", func(t *testing.T) {
		cut("c1", "both", 2).requireVerdict(t, FaultTolerance, history.Inconclusive, "vacuous: nobody asked for a free lock")
		cut("c1", "both", 1).requireVerdict(t, FaultTolerance, history.Inconclusive, "vacuous: nobody asked for a free lock")
		cut("c1", "to-node", 2).requireVerdict(t, FaultTolerance, history.Inconclusive, "vacuous: nobody asked for a free lock")
	})
	t.Run("and at once where only the way back was cut", func(t *testing.T) {
		cut("c1", "to-client", 2).requireVerdict(t, FaultTolerance, history.Violated, "")
	})
	t.Run("and at once where it was another's link", func(t *testing.T) {
		cut("c3", "both", 2).requireVerdict(t, FaultTolerance, history.Violated, "")
	})
	t.Run("of one that lives on they are its own to clear away", func(t *testing.T) {
		s := tale()
		s.attempt("c1", 0, 5, history.TypeFail)
		contend(s)
		s.requireVerdict(t, FaultTolerance, history.Violated, "")
	})
	t.Run("and what another refusal names is not theirs", func(t *testing.T) {
		s := tale()
		s.add(0, history.Event{Process: "c1", Type: history.TypeInvoke, Op: history.OpAcquire, ID: 1, Key: "k1"})
		s.instant(2, "kill", "c1")
		for _, n := range []string{"n1", "n2", "n3"} {
			s.silent(1, "c1", "c1.1", n)
		}
		s.refused(20, "c2", "c2.1", "c3.1", "n1", "n2", "n3")
		s.attempt("c2", 10, 1000, history.TypeFail)
		s.requireVerdict(t, FaultTolerance, history.Violated, "")
	})
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
				s.extending(c.at, "c1", "c1.1", 2000, n)
			}
			for at := int64(2500); at < 3600; at += 100 {
				s.refused(at, "c2", "c2.1", c.refusal, nodes...)
			}
			s.grant("c2", 1800, 3710, 900)
			s.requireVerdict(t, FaultTolerance, c.verdict, "")
		})
	}
}

// extending is an extension that reached a node, and whose answer nobody saw.
func (s *story) extending(t int64, client, token string, expiry int64, node string) {
	s.serial++
	s.add(t, history.Event{Process: client + ">" + node, Type: history.TypeCommand, Command: &history.Command{
		Serial: s.serial, Name: "EVAL", Key: "k1", Token: token, Expiry: expiry * ms, Effect: history.EffectExtend}})
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
		return fault{class: history.LinkSlow, target: "c1-n1", span: span{from * ms, until * ms}}
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
