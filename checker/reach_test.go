package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// A node with a disk fault is healthy again from the first look that finds it up.
func TestNodeLook_IsSignOfLife(t *testing.T) {
	for until, violated := range map[int64]bool{1500: false, 1501: true} {
		s := newStory()
		s.lasting(0, 500, "slow-fsync", "n1", "n2", "n3")
		for _, node := range []string{"n1", "n2", "n3"} {
			s.look(1000, node, "r1", "", 0)
		}
		s.attempt("c1", 1, until, history.TypeFail)
		require.Equal(t, violated, s.violated(t, FaultTolerance), until)
	}
}

// No client waits any more for a command that a link held for a TTL and then delivered: its key is an obstacle.
func TestCommandHeldForATTL_KeyIsAnObstacle(t *testing.T) {
	for _, test := range []struct {
		name                 string
		from, until, arrived int64
		violated             bool
	}{
		{"held for a TTL", 1, 1001, 1001, false},
		{"held for less", 2, 1001, 1001, true},
		{"before the link let go", 1, 1003, 1001, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, nodes := newStory(), []string{"n1", "n2", "n3"}
			s.attempt("c1", 0, 5, history.TypeFail)
			s.lasting(test.from, test.until, "hold", "c1-n1", "c1-n2", "c1-n3")
			for _, node := range nodes {
				s.silent(test.arrived, "c1", "c1.1", node)
			}
			s.refused(1020, "c2", "c2.1", "c1.1", nodes...)
			s.attempt("c2", 1010, 2000, history.TypeFail)
			require.Equal(t, test.violated, s.violated(t, FaultTolerance))
		})
	}
}

// A node with a disk fault is healthy while it replies within a tenth of the bound for a grant, and for as long
// afterwards.
func TestDiskFault_PromptReply_ShowsAHealthyNode(t *testing.T) {
	for answered, unhealthy := range map[int64][]span{
		150: {{0, 100 * ms}, {200 * ms, 600 * ms}}, 151: {{0, 600 * ms}},
	} {
		s := newStory()
		s.lasting(0, 500, "slow-fsync", "n1")
		s.silent(100, "c1", "t1", "n1")(answered, "OK", true)
		s.look(600, "n1", "r1", "", 0)
		require.Equal(t, unhealthy, s.history(t, 0).record.unhealthy("c1", "n1"), answered)
	}
}

// A fault on one message ends when the node has received and answered two SETs over the link during it.
func TestFaultOnOneMessage_EndsWithTheSecondSet(t *testing.T) {
	for _, test := range []struct {
		arrived, answered [2]int64
		until             int64
	}{
		{[2]int64{100, 200}, [2]int64{110, 210}, 200}, {[2]int64{99, 200}, [2]int64{110, 210}, 500},
		{[2]int64{100, 490}, [2]int64{110, 499}, 490}, {[2]int64{100, 490}, [2]int64{110, 500}, 500},
	} {
		s := newStory()
		s.counted(100, 500, 1, history.Fault{Kind: "lose", Count: 1})
		for i := range test.arrived {
			s.silent(test.arrived[i], "c1", "t1", "n1")(test.answered[i], "OK", true)
		}
		require.Equal(t, []span{{100 * ms, test.until * ms}}, s.history(t, 0).record.unhealthy("c1", "n1"), test)
	}
}

// A fault that loses one reply to a SET ends after that reply: a lock that waits for it forever has no excuse.
func TestLostSetReply_LinkRecovers(t *testing.T) {
	for _, test := range []struct {
		asked history.Asked
		until int64
	}{
		{history.Asked{Command: "take", Part: "reply"}, 220}, {history.Asked{Command: "SET", Part: "reply"}, 220},
		{history.Asked{Command: "take", Part: "command"}, 500}, {history.Asked{Command: "release", Part: "reply"}, 500},
	} {
		s := newStory()
		s.counted(100, 500, 1, history.Fault{Kind: "lose", Count: 1, Asked: test.asked})
		s.silent(150, "c1", "t1", "n1")(170, "OK", true)
		require.Equal(t, []span{{100 * ms, test.until * ms}}, s.history(t, 0).record.unhealthy("c1", "n1"), test)
	}
}

// The SETs of c1 reach three nodes, and are never answered; c2 is refused, and waits. The key is an obstacle only if c1
// cannot delete it.
func TestUnansweredSets(t *testing.T) {
	const nobody = "" // c1 is killed
	pause := func(s *story, node string) { s.lasting(1, 2900, "pause", node) }
	cut := func(client string, direction history.Direction) func(*story, string) {
		return func(s *story, node string) {
			s.during(1, 900, history.Fault{Kind: "cut", Targets: []string{client + "-" + node},
				Asked: history.Asked{Direction: direction}})
		}
	}
	for _, c := range []struct {
		name     string
		fault    func(s *story, node string) // on the SETs' way
		sent     int64
		killed   string
		refused  int64
		refusal  string
		from, to int64 // c2's attempt
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
			s, nodes := newStory(), []string{"n1", "n2", "n3"}
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
				s.requireVerdict(t, FaultTolerance, history.Inconclusive, reasonNoFreeLock)
			} else {
				s.requireVerdict(t, FaultTolerance, history.Violated, "")
			}
		})
	}
}

// A script refuses by a number in place of nil. The number names no client unless it is a client's token.
func TestUnansweredSets_NumericRefusal_NamesNoClient(t *testing.T) {
	for reply, verdict := range map[string]string{"0": history.Inconclusive, "-1": history.Inconclusive,
		"7": history.Violated} {
		t.Run(reply, func(t *testing.T) {
			s, nodes := newStory(), []string{"n1", "n2", "n3"}
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

// The extension of a killed client reaches three nodes, and is never answered: its keys last longer than its last reply
// says.
func TestUnansweredExtensions(t *testing.T) {
	nodes := []string{"n1", "n2", "n3"}
	for name, c := range map[string]struct {
		at      int64 // arrival at the nodes
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
			s := newStory()
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

// A command of a killed client is executed after the kill: its key is an obstacle until it expires, and no longer. A
// grant that is recorded then is no client's lease.
func TestKilledClient_PendingSetStillTakesEffect(t *testing.T) {
	nodes := []string{"n1", "n2", "n3"}
	late := func(granted int64) *story {
		s := newStory()
		s.add(0, history.Event{Process: "c1", Type: history.TypeInvoke, Op: history.OpAcquire, ID: 1, Key: "k1"})
		s.instant(2, "kill", "c1")
		s.sets(400, "c1", "c1.1", 1000, nodes...)
		for at := int64(450); at < 1400; at += 100 {
			s.refused(at, "c2", "c2.1", "c1.1", nodes...)
		}
		s.grant("c2", 100, granted, 900)
		return s
	}
	late(1450).requireVerdict(t, FaultTolerance, history.Inconclusive, reasonNoFreeLock)
	late(1450).requireVerdict(t, DeadlockFreedom, history.Holds, "")
	late(1950).requireVerdict(t, FaultTolerance, history.Violated, "")
	late(1950).requireVerdict(t, DeadlockFreedom, history.Violated, "")

	s := newStory()
	s.instant(20, "kill", "c1")
	s.grant("c1", 0, 30, 900)
	s.grant("c2", 40, 50, 900)
	s.requireVerdict(t, MutualExclusion, history.Holds, "")
	require.Len(t, s.judged(t, MutualExclusion).Violations, 0)
	require.EqualValues(t, 1, s.judged(t, MutualExclusion).Measured["grants"])
}

// Successive faults of one link, each shorter than a TTL, hold a command for their whole time.
func TestHeldTooLong(t *testing.T) {
	const ms = int64(1_000_000)
	held := func(from, until int64) fault {
		return fault{Fault: &history.Fault{Class: history.LinkSlow}, link: history.Link{From: "c1", To: "n1"},
			span: span{from * ms, until * ms}}
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
