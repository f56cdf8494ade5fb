package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

func TestFaultTolerance(t *testing.T) {
	lateKeys := func(s *story) {
		s.sets(1000, "c1", "c1.1", 800, majority...)
		s.grant("c2", 950, 1810, 900)
	}
	leaves := func(kind string, from, until int64) func(*story) { // keys of a failed attempt, beside a fault
		return func(s *story) {
			s.sets(5, "c1", "t1", 1000, majority...)
			s.attempt("c1", 0, 10, history.TypeFail)
			s.lasting(from, until, kind, links("c1")...)
			s.grant("c2", 20, 1200, 900)
		}
	}
	requireVerdicts(t, FaultTolerance, []storyCase{
		{"granted within the bound", func(s *story) { s.grant("c1", 0, 500, 900) }, history.Holds, ""},
		{"granted after the bound", func(s *story) { s.grant("c1", 0, 501, 900) }, history.Violated, "did not acquire it"},
		{"who is killed asks no more", func(s *story) {
			s.grant("c1", 0, 10, 100)
			s.add(200, history.Event{Process: "c2", Type: history.TypeInvoke, Op: history.OpAcquire, ID: 1, Key: "k1"})
			s.instant(300, "kill", "c2")
			s.add(5000, history.Event{Process: "harness", Type: history.TypeNote})
		}, history.Inconclusive, "vacuous: no client acquired or released the lock after the first fault, at 0.300 s"},
		{"who is granted it as the keys of the dead run out shows something", func(s *story) {
			s.killedHolder(1000)
			s.grant("c2", 200, 1100, 900)
		}, history.Holds, ""},
		{"the keys of one's own lease have to expire, if nobody could delete them", func(s *story) {
			id := s.holder(1000, 900)
			s.lasting(20, 110, "cut", links("c1")...)
			s.release("c1", id, 30, 100, history.TypeInfo)
			s.grant("c1", 120, 1010, 900)
		}, history.Holds, ""},
		{"so have those that nodes took only when nobody held the lease any more", func(s *story) {
			s.grant("c1", 0, 10, 900)
			lateKeys(s)
		}, history.Holds, ""},
		{"but not after a release, which has to follow its SET", func(s *story) {
			id := s.grant("c1", 0, 10, 900)
			s.release("c1", id, 500, 510, history.TypeOK)
			lateKeys(s)
		}, history.Violated, ""},
		{"nor when the holder was told that it is lost, and so the lock knew", func(s *story) {
			id := s.grant("c1", 0, 10, 900)
			s.add(500, history.Event{Process: "c1", Type: history.TypeLost, Lease: id})
			lateKeys(s)
		}, history.Violated, ""},
		{"not granted while a majority was being killed", func(s *story) {
			s.seen(400, 1000, "kill", "n3", "n4", "n5")
			s.attempt("c1", 1, 5000, history.TypeFail)
		}, history.Inconclusive, reasonNoFreeLock},
		{"a supervisor brought it back", func(s *story) {
			s.instant(0, "kill", "n3", "n4", "n5")
			s.look(3000, "n3", "r2", "", 0)
			s.grant("c1", 1, 3501, 900)
		}, history.Violated, ""},
		{"a paused node and a cut link make a minority of three", func(s *story) {
			s.lasting(0, 9000, "pause", "n1")
			s.lasting(0, 9000, "cut", "c1-n2")
			s.lasting(0, 9000, "delay", "c1-n3")
			s.attempt("c1", 1, 5000, history.TypeFail)
		}, history.Inconclusive, reasonNoFreeLock},
		{"far nodes are healthy", func(s *story) {
			for _, link := range links("c1") {
				s.inSetup("delay", link)
			}
			s.attempt("c1", 1, 5000, history.TypeFail)
		}, history.Violated, ""},
		{"two faults on one node are one node", func(s *story) {
			s.lasting(0, 9000, "pause", "n1")
			s.lasting(0, 9000, "cut", "c1-n1")
			s.lasting(0, 9000, "delay", "c1-n3")
			s.attempt("c1", 1, 5000, history.TypeFail)
		}, history.Violated, ""},
		{"not granted while another held it, even without its keys", func(s *story) {
			s.holder(20, 900)
			s.grant("c2", 20, 1000, 900)
		}, history.Holds, ""},
		{"a rival's attempt is no excuse", func(s *story) {
			s.attempt("c1", 0, 5000, history.TypeFail)
			s.grant("c2", 100, 5100, 900)
		}, history.Violated, "did not acquire it, nor did any other client (1 tried)"},
		{"four no more than the bound for a free lock", func(s *story) {
			for _, rival := range []string{"c1", "c3", "c4"} {
				s.attempt(rival, 0, 5000, history.TypeFail)
			}
			s.grant("c2", 100, 1601, 900)
		}, history.Violated, ""},
		{"one in the midst of it leaves too little before and after", func(s *story) {
			s.attempt("c3", 300, 400, history.TypeFail)
			s.grant("c2", 0, 900, 900)
			s.grant("c2", 3000, 3010, 10)
		}, history.Holds, ""},
		{"where one gives up, the bound is for those that go on", func(s *story) {
			s.attempt("c3", 0, 100, history.TypeFail)
			s.attempt("c1", 0, 1101, history.TypeFail)
			s.grant("c2", 0, 1101, 900)
		}, history.Violated, ""},
		{"keys of nobody that is known excuse", func(s *story) {
			for _, node := range majority {
				s.look(5, node, "r1", "t9", 1000)
			}
			s.grant("c2", 20, 1200, 900)
		}, history.Inconclusive, reasonNoFreeLock},
		{"the keys of a lease that has just ended are something to wait for", func(s *story) {
			s.holder(1000, 100)
			s.grant("c2", 20, 1200, 900)
		}, history.Holds, ""},
		{"a minority of keys and one node down are", func(s *story) {
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2")
			s.instant(6, "kill", "n3")
			s.grant("c1", 0, 10, 100)
			s.grant("c2", 20, 1200, 900)
		}, history.Holds, ""},
		{"a lock that refuses its settings was not asked", func(s *story) {
			s.op(0, 5000, history.TypeFail, history.Event{Process: "c1", Op: history.OpAcquire, Key: "k1",
				Reason: history.ReasonRefused})
		}, history.Inconclusive, reasonNoFreeLock},
		{"one's own attempts are no excuse", func(s *story) {
			s.sets(30, "c2", "t2", 1000, majority...)
			s.grant("c2", 20, 1200, 900)
		}, history.Violated, ""},
		{"keys of a failed attempt excuse while a fault keeps their owner from deleting them", leaves("cut", 7, 3000),
			history.Inconclusive, reasonNoFreeLock},
		{"not if the fault was over as the keys came", leaves("hold", 0, 15), history.Violated, ""},
		{"a message that was held all the while does", leaves("hold", 0, 1005), history.Inconclusive, reasonNoFreeLock},
		{"gave up before the bound", func(s *story) { s.attempt("c1", 0, 400, history.TypeFail) }, history.Inconclusive,
			reasonNoFreeLock},
		{"no bound", func(s *story) {
			s.header.Bounds.Grant = 0
			s.grant("c1", 0, 10, 900)
		}, history.Inconclusive, "vacuous: the history sets no bound"},
	})
}

// A wait after another client's is reported, too. Waits at the same time are reported once.
func TestFaultTolerance_SuccessiveWaits_AreAllReported(t *testing.T) {
	for from, told := range map[int64]int{1100: 2, 0: 1} {
		s := newStory()
		s.attempt("c1", 0, 1100, history.TypeFail)
		s.attempt("c2", from, from+1100, history.TypeFail)
		require.Len(t, s.judged(t, FaultTolerance).Violations, told, from)
	}
}

func TestMeasuredLatencies(t *testing.T) {
	s := newStory()
	for i := range int64(100) {
		s.grant("c1", 1000*i, 1000*i+i+1, 100)
	}
	m := s.judged(t, FaultTolerance).Measured
	require.EqualValues(t, 100, m["grants"])
	require.EqualValues(t, 50*ms, m["acquire_p50"])
	require.EqualValues(t, 99*ms, m["acquire_p99"])
	require.EqualValues(t, 100*ms, m["longest_gap"])
}
