package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// A node whose disk was disturbed is healthy again from the first look that finds it up.
func TestNodeLook_IsSignOfLife(t *testing.T) {
	for until, violated := range map[int64]bool{1500: false, 1501: true} {
		s := tale()
		s.lasting(0, 500, "slow-fsync", "n1", "n2", "n3")
		for _, node := range []string{"n1", "n2", "n3"} {
			s.look(1000, node, "r1", "", 0)
		}
		s.attempt("c1", 1, until, history.TypeFail)
		require.Equal(t, violated, s.violated(t, FaultTolerance), until)
	}
}

// What a link had held back for a TTL, and let go just now, nobody waits for any more: its key is in the way.
func TestWhatWasHeldForATTLIsInTheWay(t *testing.T) {
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
			s, nodes := tale(), []string{"n1", "n2", "n3"}
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

// As one node comes back and another goes at the same moment, a majority is in reach all the while.
func TestNodesThatFailInTurnLeaveAMajority(t *testing.T) {
	for _, property := range []string{FaultTolerance, DeadlockFreedom} {
		s := tale()
		s.header.Bounds.Grant, s.header.Bounds.Free = 800*ms, 800*ms
		s.lasting(0, 2000, "pause", "n1")
		s.lasting(0, 700, "pause", "n2")
		s.lasting(700, 2000, "pause", "n3")
		s.attempt("c1", 10, 1400, history.TypeFail)
		require.True(t, s.violated(t, property), property)
	}
}

// A node whose disk is disturbed is healthy where it answers within a tenth of the bound for a grant, and as long
// after.
func TestAPromptAnswerShowsAHealthyNode(t *testing.T) {
	for answered, unhealthy := range map[int64][]span{
		150: {{0, 100 * ms}, {200 * ms, 600 * ms}}, 151: {{0, 600 * ms}},
	} {
		s := tale()
		s.lasting(0, 500, "slow-fsync", "n1")
		s.silent(100, "c1", "t1", "n1")(answered, "OK", true)
		s.look(600, "n1", "r1", "", 0)
		require.Equal(t, unhealthy, s.history(t, 0).analysis.unhealthy("c1", "n1"), answered)
	}
}

// A fault on one message is spent when the node has taken two keys over the link since it began and before it ended.
func TestAFaultOnOneMessageIsSpent(t *testing.T) {
	for _, test := range []struct {
		arrived, answered [2]int64
		until             int64
	}{
		{[2]int64{100, 200}, [2]int64{110, 210}, 200}, {[2]int64{99, 200}, [2]int64{110, 210}, 500},
		{[2]int64{100, 490}, [2]int64{110, 499}, 490}, {[2]int64{100, 490}, [2]int64{110, 500}, 500},
	} {
		s := tale()
		s.counted(100, 500, 1, history.Fault{Kind: "lose", Count: 1})
		for i := range test.arrived {
			s.silent(test.arrived[i], "c1", "t1", "n1")(test.answered[i], "OK", true)
		}
		require.Equal(t, []span{{100 * ms, test.until * ms}}, s.history(t, 0).analysis.unhealthy("c1", "n1"), test)
	}
}

// One that loses the answer to a SET is spent when the node has given it: a lock that waits for it for ever has nobody
// to blame.
func TestALostAnswerHindersNoLonger(t *testing.T) {
	for _, test := range []struct {
		asked history.Asked
		until int64
	}{
		{history.Asked{Command: "take", Part: "reply"}, 220}, {history.Asked{Command: "SET", Part: "reply"}, 220},
		{history.Asked{Command: "take", Part: "command"}, 500}, {history.Asked{Command: "release", Part: "reply"}, 500},
	} {
		s := tale()
		s.counted(100, 500, 1, history.Fault{Kind: "lose", Count: 1, Asked: test.asked})
		s.silent(150, "c1", "t1", "n1")(170, "OK", true)
		require.Equal(t, []span{{100 * ms, test.until * ms}}, s.history(t, 0).analysis.unhealthy("c1", "n1"), test)
	}
}
