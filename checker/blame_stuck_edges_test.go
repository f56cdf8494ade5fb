package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
)

// A node was waited for if it was sent something while a fault kept it from the client, during the wait, and nobody else was
// asked from there on for more than half of it. Who asks others side by side waits for none.
func TestANodeIsWaitedForFromWhatItWasSent(t *testing.T) {
	waits := func(from, until int64, tell func(*story)) func(*story) {
		return func(s *story) {
			s.lasting(from, until, "pause", "n1")
			s.attempt("c1", 10, 3010, history.TypeFail)
			tell(s)
		}
	}
	sent := func(times ...int64) func(*story) {
		return func(s *story) {
			for _, at := range times {
				s.hangs(at, "c1", "t1", "n1")
			}
		}
	}
	beside := func(asked, answered int64, times ...int64) func(*story) {
		return func(s *story) { s.slowly(asked, answered, "c1", "t1", "n2"); sent(times...)(s) }
	}
	requireEdges(t, DeadlockFreedom, []edge{
		{"for more than half of it", waits(5, 4000, sent(1509)), NodeTimeout, "and then nothing to any other node for 1.501 s"},
		{"for half of it", waits(5, 4000, sent(1510)), Unexplained, ""},
		{"as the fault began", waits(100, 4000, sent(100)), NodeTimeout, "sent it a command at 0.100 s,"},
		{"before it began", waits(100, 4000, sent(99)), Unexplained, ""},
		{"before the fault was over", waits(5, 1000, sent(999)), NodeTimeout, "sent it a command at 0.999 s,"},
		{"as it was over", waits(5, 1000, sent(1000)), Unexplained, ""},
		{"at the call", waits(5, 4000, sent(10)), NodeTimeout, "sent it a command at 0.010 s,"},
		{"before the call", waits(5, 4000, sent(9)), Unexplained, ""},
		{"as another answered", waits(5, 4000, beside(20, 100, 100)), NodeTimeout, "sent it a command at 0.100 s,"},
		{"before another answered", waits(5, 4000, beside(20, 101, 100)), Unexplained, ""},
		{"beside another, and then alone", waits(5, 4000, beside(10, 15, 10, 500)), NodeTimeout, "sent it a command at 0.500 s,"},
	})
}

// A message that is known to have been lost was waited for if its client, from when an answer
// could have come on, asked nobody anything for more than half of the wait.
func TestAnAnswerToWhatWasLostIsWaitedFor(t *testing.T) {
	waits := func(lost int64, tell func(*story)) func(*story) {
		return func(s *story) {
			s.losing(0, 9000, 1, []int64{lost}, "c1-n1", "c1-n2", "c1-n3")
			s.slowly(8, 30, "c1", "t1", "n4")           // side by side
			s.attempt("c1", 10, 3050, history.TypeFail) // in reach again from 50 ms after what was lost
			tell(s)
		}
	}
	asks := func(at int64) func(*story) {
		return func(s *story) { s.sets(at, "c1", "t1", 1000, "n4") }
	}
	requireEdges(t, FaultTolerance, []edge{
		{"to the end", waits(10, func(*story) {}), NodeTimeout, "what it had sent at 0.010 s: it sent nothing to any node for 3.040 s"},
		{"for more than half of it", waits(10, asks(1556)), NodeTimeout, "it sent nothing to any node for 1.546 s"},
		{"for half of it", waits(10, asks(1555)), Unexplained, ""},
		{"while others are asked side by side", waits(10, asks(59)), NodeTimeout, "it sent nothing to any node for 3.040 s"},
		{"but not once another is asked as an answer could have come", waits(10, asks(60)), Unexplained, ""},
		{"but not before the call", waits(9, func(*story) {}), Unexplained, ""},
	})
}

// A client may hang at a node that the setting keeps from it if it asked nobody anything for more than half of its wait.
func TestWhoAsksNobodyForMostOfAWaitMayHang(t *testing.T) {
	for asked, hangs := range map[int64]bool{1510: false, 1511: true} {
		s := tale()
		s.far("c1-n4")
		s.attempt("c1", 10, 3010, history.TypeFail)
		s.sets(asked, "c1", "t1", 1000, "n1")
		a := s.history(t, 0).analysis
		v := Violation{From: 10 * ms, Until: 3010 * ms, Processes: []string{"c1"}, Blame: &Blame{Broke: Unexplained}}
		require.Equal(t, hangs, staging{a, &blamer{record: a.record}}.mayHang(v), asked)
	}
}
