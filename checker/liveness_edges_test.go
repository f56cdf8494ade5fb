package checker

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// violated reports whether a story violates a property.
func (s *story) violated(t *testing.T, property string) bool {
	t.Helper()
	return s.judged(t, property).Verdict == history.Violated
}

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

func TestAWaitTellsHowItEnded(t *testing.T) {
	for outcome, ending := range map[history.Type]string{history.TypeOK: "to 1.506 s, when it was granted",
		history.TypeFail: "to 1.506 s; it was still waiting"} {
		s := tale()
		s.attempt("c1", 0, 5, history.TypeFail)
		if outcome == history.TypeOK {
			s.grant("c2", 5, 1506, 900)
		} else {
			s.attempt("c2", 5, 1506, outcome)
		}
		require.Contains(t, s.judged(t, DeadlockFreedom).Violations[0].What, ending)
	}
	for rivals, what := range map[bool]string{false: "it was not granted it", true: "neither it nor its rivals (1) were granted it"} {
		s := tale()
		s.attempt("c1", 0, 1200, history.TypeFail)
		if rivals {
			s.attempt("c2", 0, 1200, history.TypeFail)
		}
		require.Contains(t, s.judged(t, FaultTolerance).Violations[0].What, what)
	}
}

// A lock is handed over that another tried for before the grant, or held until at most the bound before the call.
func TestWhatAHandoverIs(t *testing.T) {
	for asked, handovers := range map[int64]int64{9: 1, 10: 0} {
		s := tale()
		s.grant("c1", 0, 10, 900)
		s.attempt("c2", asked, 20, history.TypeFail)
		require.Equal(t, handovers, s.judged(t, DeadlockFreedom).Measured["handovers"], asked)
	}
	for asked, handovers := range map[int64]int64{1610: 1, 1611: 0} {
		s := tale()
		s.grant("c2", 0, 10, 100)
		s.grant("c1", asked, asked+10, 900)
		require.Equal(t, handovers, s.judged(t, DeadlockFreedom).Measured["handovers"], asked)
	}
}

func TestAKeyThatEndsNowHasAnExpiry(t *testing.T) {
	for ttl, kept := range map[int64]bool{0: false, -1: true} {
		s := tale()
		s.grant("c1", 0, 10, 100)
		s.look(50, "n1", "r1", "c1.1", ttl)
		r := s.judged(t, DeadlockFreedom)
		require.Equal(t, history.Inconclusive, r.Verdict)
		require.Equal(t, kept, strings.Contains(r.Reason, "without an expiry"), r.Reason)
	}
}

// Each client's stretch without a grant is told of once; two that only touch are two.
func TestStretchesThatTouchAreTwo(t *testing.T) {
	s := tale()
	s.lasting(0, 1200, "cut", "c1-n1", "c1-n2", "c1-n3")
	s.attempt("c1", 0, 3000, history.TypeFail)
	s.attempt("c2", 1, 1200, history.TypeFail)
	found := s.judged(t, FaultTolerance).Violations
	require.Len(t, found, 2)
	require.Equal(t, []int64{1200 * ms, 3000 * ms}, []int64{found[0].From, found[0].Until})
	require.Equal(t, []int64{1 * ms, 1200 * ms}, []int64{found[1].From, found[1].Until})
}

// Without a bound for a free lock, rivals have as long as one of them for each.
func TestTheBoundAmongRivals(t *testing.T) {
	for until, violated := range map[int64]bool{1000: false, 1001: true} {
		s := tale()
		s.header.Bounds.Free = 0
		s.attempt("c1", 0, until, history.TypeFail)
		s.attempt("c2", 0, until, history.TypeFail)
		require.Equal(t, violated, s.violated(t, FaultTolerance), until)
	}
}

// A key whose owner was killed while it was there is no fault of the lock.
func TestAKilledOwnerExcusesItsKey(t *testing.T) {
	for killed, violated := range map[int64]bool{2505: false, 2506: true} {
		s := tale()
		s.sets(5, "c1", "t1", 2500, "n1", "n2", "n3")
		s.attempt("c1", 0, 10, history.TypeFail)
		s.instant(killed, "kill", "c1")
		s.attempt("c2", 20, 3000, history.TypeFail)
		require.Equal(t, violated, s.violated(t, FaultTolerance), killed)
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
		{"2 ms ago", 1, 1001, 1003, false},
		{"3 ms ago", 1, 1001, 1004, true},
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

// What reaches a node as it is paused is carried out when it runs on.
func TestAPausedNodeCarriesOutLater(t *testing.T) {
	for arrived, violated := range map[int64]bool{0: true, 1: false} {
		s, nodes := tale(), []string{"n1", "n2", "n3"}
		s.add(0, history.Event{Process: "c1", Type: history.TypeInvoke, Op: history.OpAcquire, ID: 1, Key: "k1"})
		for _, n := range nodes {
			s.lasting(1, 2900, "pause", n)
			s.silent(arrived, "c1", "c1.1", n)
		}
		s.instant(3, "kill", "c1")
		s.refused(3100, "c2", "c2.1", "c1.1", nodes...)
		s.attempt("c2", 3050, 4000, history.TypeFail)
		require.Equal(t, violated, s.violated(t, FaultTolerance), arrived)
	}
}

// Of stalls that are as long as one another the first is named.
func TestTheFirstOfTheWorstStallsIsNamed(t *testing.T) {
	s := tale()
	s.header.RealTime, s.header.StallLimit = true, 100*ms
	s.grant("c1", 0, 10, 900)
	for _, at := range []int64{1000, 1500} {
		s.add(at, history.Event{Process: "c2", Type: history.TypeStall, Late: 100 * ms})
	}
	s.grant("c2", 1000, 1010, 900)
	require.Contains(t, s.judged(t, MutualExclusion).Reason, "c2 was held up for 100 ms at 1.000 s")
}

// Only what is violated all the same is said not to be as the scenario means to show it: else the verdict says so.
func TestUnmetIsSaidOfViolations(t *testing.T) {
	s := tale()
	s.grant("c1", 0, 10, 900)
	s.add(11, history.Event{Process: "harness", Type: history.TypeNote, Reason: history.ReasonPreconditionFailed, Text: "c2 was to wait"})
	s.grant("c2", 15, 20, 900)
	require.Equal(t, "c2 was to wait", s.judged(t, MutualExclusion).Unmet)
	tolerant := s.requireVerdict(t, FaultTolerance, history.Inconclusive, "vacuous: c2 was to wait")
	require.Empty(t, tolerant.Unmet)
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

// A node whose disk is disturbed is healthy where it answers within a tenth of the bound for a grant, and as long after.
func TestAPromptAnswerShowsAHealthyNode(t *testing.T) {
	for answered, unhealthy := range map[int64][]span{
		150: {{0, 100 * ms}, {200 * ms, 600 * ms}}, 151: {{0, 600 * ms}},
	} {
		s := tale()
		s.lasting(0, 500, "slow-fsync", "n1")
		s.slowly(100, answered, "c1", "t1", "n1")
		s.look(600, "n1", "r1", "", 0)
		require.Equal(t, unhealthy, s.history(t, 0).analysis.reach().unhealthy("c1", "n1"), answered)
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
			s.slowly(test.arrived[i], test.answered[i], "c1", "t1", "n1")
		}
		require.Equal(t, []span{{100 * ms, test.until * ms}}, s.history(t, 0).analysis.reach().unhealthy("c1", "n1"), test)
	}
}

// One that loses the answer to a SET is spent when the node has given it: a lock that waits for it for ever has nobody to blame.
func TestALostAnswerHindersNoLonger(t *testing.T) {
	for _, test := range []struct {
		asked map[string]string
		until int64
	}{
		{map[string]string{"command": "take", "part": "reply"}, 220}, {map[string]string{"command": "SET", "part": "reply"}, 220},
		{map[string]string{"command": "take", "part": "command"}, 500}, {map[string]string{"command": "release", "part": "reply"}, 500},
	} {
		s := tale()
		s.counted(100, 500, 1, history.Fault{Kind: "lose", Count: 1, Requested: test.asked})
		s.slowly(150, 170, "c1", "t1", "n1")
		require.Equal(t, []span{{100 * ms, test.until * ms}}, s.history(t, 0).analysis.reach().unhealthy("c1", "n1"), test)
	}
}

// An attempt of which nobody knows how it ended may have left keys, as one that failed: a wait begins anew as it ends.
func TestAWaitBeginsAnewAsAnAttemptEnds(t *testing.T) {
	for outcome, violated := range map[history.Type]bool{history.TypeInfo: false, history.TypeFail: false, "": true} {
		s := tale()
		s.attempt("c1", 0, 1000, outcome)
		s.attempt("c2", 5, 2400, history.TypeFail)
		require.Equal(t, violated, s.violated(t, DeadlockFreedom), outcome)
	}
}

// Who is refused at once and asks anew after a pause, again and again, waits; who does so a few times does not, nor does one
// whose caller cancels at once. Pauses that are longer than the bound for a grant are its own affair.
func TestWhoAsksAnewWaits(t *testing.T) {
	for name, c := range map[string]struct {
		times, lasts, pause int64
		reason              string
		violated            bool
	}{
		"eleven times":                 {11, 5, 200, history.ReasonNoMajority, true},
		"four times":                   {4, 5, 161, history.ReasonNoMajority, true},
		"four times, within the bound": {4, 5, 160, history.ReasonNoMajority, false},
		"three long ones":              {3, 600, 450, history.ReasonNoMajority, true}, // each is an asking of its own
		"twice":                        {2, 5, 491, history.ReasonNoMajority, true},
		"twice, within the bound":      {2, 5, 490, history.ReasonNoMajority, false},
		"once":                         {1, 400, 0, history.ReasonNoMajority, false},
		"pauses as long as the bound":  {6, 5, 500, history.ReasonNoMajority, true},
		"longer pauses":                {6, 5, 501, history.ReasonNoMajority, true},
		"pauses of two TTLs":           {6, 5, 2000, history.ReasonNoMajority, true},
		"cancelled at once":            {11, 5, 200, history.ReasonCancelled, false},
		"cancelled after a while":      {11, 125, 200, history.ReasonCancelled, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := tale()
			s.header.Bounds.Free = 1500 * ms
			s.sets(1, "c2", "c2.1", 1000, "n1", "n2", "n3")
			s.grant("c2", 0, 10, 900)
			s.deletes(105, "c2", "c2.1", "n1", "n2", "n3")
			s.release("c2", 1, 100, 110, history.TypeOK)
			from := int64(1000)
			for range c.times {
				s.op(from, from+c.lasts, history.TypeFail, history.Event{Process: "c1", Op: history.OpAcquire, Key: "k1", Reason: c.reason})
				from += c.lasts + c.pause
			}
			require.Equal(t, c.violated, s.violated(t, FaultTolerance))
		})
	}
}

// Who asks anew waits for a lock that is free: not while the keys of a lease are in the way.
func TestWhoAsksAnewWaitsForALockThatIsFree(t *testing.T) {
	for deleted, violated := range map[bool]bool{true: true, false: false} {
		s := tale()
		s.sets(1, "c2", "c2.1", 10_000, "n1", "n2", "n3")
		s.grant("c2", 0, 10, 100)
		if deleted {
			s.deletes(105, "c2", "c2.1", "n1", "n2", "n3")
		}
		for from := int64(1000); from < 4000; from += 205 {
			s.attempt("c1", from, from+5, history.TypeFail)
		}
		require.True(t, s.violated(t, DeadlockFreedom), "a key that lives for ten TTLs does not excuse that")
		require.Equal(t, violated, s.violated(t, FaultTolerance))
	}
}
