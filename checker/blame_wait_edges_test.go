package checker

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
)

// slowly is a SET that a node was given at one time and answered at another.
func (s *story) slowly(asked, answered int64, client, token, node string) {
	s.hangs(asked, client, token, node)
	c := *s.events[len(s.events)-1].Command
	c.Reply, c.Done = "OK", true
	s.add(answered, history.Event{Process: client + ">" + node, Type: history.TypeReply, Command: &c})
}

// Of the time from the cancel to the return, 1050 ms here, what is asked in the later half is not of the round that was under
// way; and a node was waited for if it was for more than half of it.
func TestWhatACancelledClientDidForMostOfTheTime(t *testing.T) {
	cancelled := func(tell func(*story)) func(*story) {
		return func(s *story) {
			s.header.Bounds.Cancel = 500 * ms
			s.cancel(150, "c2")
			tell(s)
			s.attempt("c2", 100, 1200, history.TypeFail)
		}
	}
	requireEdges(t, Cancellation, []edge{
		{"asked at half time", cancelled(func(s *story) { s.sets(675, "c2", "t", 1000, "n1") }), ContextHeeded, "the history does not show what"},
		{"asked after it", cancelled(func(s *story) { s.sets(676, "c2", "t", 1000, "n1") }), ContextHeeded,
			"its SET reached n1 at 0.676 s, 526 ms after its caller had given up"},
		{"answered at half time", cancelled(func(s *story) { s.slowly(120, 675, "c2", "t", "n1") }), ContextHeeded,
			"the history does not show what"},
		{"answered after it", cancelled(func(s *story) { s.slowly(120, 676, "c2", "t", "n1") }), NodeTimeout, "went on waiting for n1"},
	})
}

// What came when a key was there explains that it stayed; what came before or after does not.
func TestWhatExplainsAKeyWasThereWithIt(t *testing.T) {
	nodes := []string{"n1", "n2", "n3"}
	left := func(tell func(*story)) func(*story) {
		return func(s *story) {
			s.sets(5, "c1", "c1.1", 2500, nodes...) // until 2505
			tell(s)
			s.attempt("c2", 20, 3000, history.TypeFail)
		}
	}
	failed := func(tell func(*story)) func(*story) {
		return left(func(s *story) { s.attempt("c1", 0, 10, history.TypeFail); tell(s) })
	}
	cut := func(from, until int64) func(*story) {
		return failed(func(s *story) { s.lasting(from, until, "cut", "c1-n1", "c1-n2", "c1-n3") })
	}
	tried := func(at int64) func(*story) {
		return failed(func(s *story) {
			for i, node := range nodes {
				s.add(at, history.Event{Process: "c1>" + node, Type: history.TypeCommand,
					Command: &history.Command{Serial: 900 + int64(i), Name: "EVAL", Key: "k1", Token: "c1.1",
						Effect: history.EffectDelete}})
				s.look(2000, node, "r1", "c1.1", 505)
			}
		})
	}
	requireEdges(t, DeadlockFreedom, []edge{
		{"its owner was killed", left(func(s *story) { s.grant("c1", 0, 10, 900); s.instant(2504, "kill", "c1") }), ReleaseArrives, ""},
		{"when it was gone", left(func(s *story) { s.grant("c1", 0, 10, 900); s.instant(2505, "kill", "c1") }), "ReleaseEverywhere", ""},
		{"its owner was killed as its attempt ended", failed(func(s *story) { s.instant(10, "kill", "c1") }), ReleaseArrives, ""},
		{"after it had ended", failed(func(s *story) { s.instant(11, "kill", "c1") }), "ReleaseEverywhere", ""},
		{"the links were cut until it was there", cut(1, 5), "ReleaseEverywhere", "ended without a lease, but its key stayed"},
		{"a little longer", cut(1, 6), ReleaseArrives, ""},
		{"the links were cut while it was there", cut(2504, 2600), ReleaseArrives, ""},
		{"from its end on", cut(2505, 2600), "ReleaseEverywhere", ""},
		{"a delete that may have been before it", tried(5), "ReleaseEverywhere", ""},
		{"a delete after it", tried(6), Unexplained, "c1's release reached n1 at 0.006 s, but its key stayed there"},
		{"released on other nodes before", func(s *story) {
			s.deletes(1, "c1", "c1.1", "n4", "n5")
			failed(func(*story) {})(s)
		}, "ReleaseEverywhere", "c1's attempt ended without a lease"},
		{"another lease was released", failed(func(s *story) {
			s.release("c1", s.grant("c1", 11, 12, 900), 13, 14, history.TypeOK)
			s.release("c3", s.op(11, 12, history.TypeOK,
				history.Event{Process: "c3", Op: history.OpAcquire, Key: "k1", Token: "c1.1", Validity: ms}), 13, 14, history.TypeOK)
		}), "ReleaseEverywhere", "c1's attempt ended without a lease"},
		{"its lease was released", left(func(s *story) { s.release("c1", s.grant("c1", 0, 10, 900), 12, 14, history.TypeOK) }),
			"ReleaseEverywhere", "c1's release left its key on n1"},
	})
}

// A node's clock is to blame where the key lived longer by it than two looks differ by, and only what did that.
func TestOnlyAClockThatKeptTheKeyIsBlamed(t *testing.T) {
	kept := func(ttl int64, set func(s *story, node string)) func(*story) {
		return func(s *story) {
			s.sets(5, "c1", "c1.1", ttl, "n1", "n2", "n3")
			for _, node := range []string{"n1", "n2", "n3"} {
				set(s, node)
			}
			s.grant("c1", 0, 10, 900)
			s.attempt("c2", 20, 2700, history.TypeFail)
		}
	}
	runs := func(rate float64) func(*story, string) {
		return func(s *story, node string) { s.clock(5, node, 5, rate, true) }
	}
	requireEdges(t, DeadlockFreedom, []edge{
		{"2 ms longer", kept(3000, func(s *story, node string) { s.clock(100, node, 98, 1, true) }), "ReleaseEverywhere", ""},
		{"3 ms longer", kept(3000, func(s *story, node string) { s.clock(100, node, 97, 1, true) }), ClocksAgree,
			"put back by 3 ms at 0.100 s"},
		{"2 ms longer as it ran slowly", kept(1998, runs(0.999)), "ReleaseEverywhere", ""},
		{"3 ms longer as it ran slowly", kept(1997, runs(0.9985)), ClocksAgree, "ran at 0.9985"},
		{"twice 2 ms longer", kept(3000, func(s *story, node string) {
			s.clock(100, node, 98, 1, true)
			s.clock(200, node, 196, 1, true)
		}), "ReleaseEverywhere", ""},
		{"put forward, and then back", kept(3000, func(s *story, node string) {
			s.clock(100, node, 110, 1, true)
			s.clock(200, node, 110, 1, true)
		}), ClocksAgree, "put back by 100 ms at 0.200 s"},
	})
}

// A SET is late that came after the release on its own node.
func TestALateSetCameAfterItsReleaseThere(t *testing.T) {
	nodes := []string{"n1", "n2", "n3"}
	late := func(released int64, where ...string) func(*story) {
		return func(s *story) {
			s.deletes(released, "c1", "t1", where...)
			s.attempt("c1", 0, 10, history.TypeFail)
			for _, node := range nodes {
				s.silent(15, "c1", "t1", node)
			}
			s.attempt("c2", 20, 3000, history.TypeFail)
			s.refused(100, "c2", "t2", "t1", nodes...)
		}
	}
	requireEdges(t, DeadlockFreedom, []edge{
		{"before", late(14, nodes...), "ReleaseAfterSet", "after its release had been there at 0.014 s"},
		{"at once", late(15, nodes...), Unexplained, ""},
		{"elsewhere", late(14, "n4", "n5"), "ReleaseEverywhere", "no release followed by 0.100 s"},
	})
}

// Rivals had the nodes at one time, until the later half of the wait; keys were given back during it; and who asks nobody for
// more than half the bound for a grant, for most of the wait, is idle.
func TestWhatAWaitShowsForMostOfTheTime(t *testing.T) {
	rounds := func(tell func(*story)) func(*story) {
		return func(s *story) {
			s.attempt("c1", 0, 5000, history.TypeFail)
			s.attempt("c2", 0, 5000, history.TypeFail)
			tell(s)
		}
	}
	last := func(at int64) func(*story) {
		return rounds(func(s *story) {
			for _, t := range []int64{100, at} {
				s.sets(t-1, "c1", "t1", 20, "n1", "n2")
				s.sets(t, "c2", "t2", 20, "n3", "n4")
			}
		})
	}
	waited := func(times ...int64) func(*story) {
		return func(s *story) {
			s.lasting(5, 4000, "pause", "n1")
			s.attempt("c1", 10, 3010, history.TypeFail)
			for _, t := range times {
				s.sets(t, "c1", "t1", 10, "n2", "n3", "n4")
			}
		}
	}
	every := func(apart int64) (times []int64) {
		for t := int64(10); t < 3010; t += apart {
			times = append(times, t)
		}
		return times
	}
	requireEdges(t, DeadlockFreedom, []edge{
		{"a livelock until half time", last(2500), "RetryJitter", "c1, c2 tried again and again"},
		{"that was over before", last(2499), Unexplained, ""},
		{"keys one after the other", rounds(func(s *story) {
			for t := int64(2000); t < 4000; t += 40 {
				s.sets(t, "c1", fmt.Sprint("a", t), 20, "n1", "n2")
				s.sets(t+20, "c2", fmt.Sprint("b", t), 20, "n3", "n4")
			}
		}), Unexplained, ""},
		{"keys that were given back as the wait ended", rounds(func(s *story) {
			for i, given := range []int64{60, 5000} {
				s.sets(int64(100*i), "c1", fmt.Sprint("t", i), 9000, "n1", "n2", "n3")
				s.deletes(given, "c1", fmt.Sprint("t", i), "n1", "n2", "n3")
			}
		}), AnswersInTime, ""},
		{"idle for half of it", waited(1510), Unexplained, ""},
		{"idle for more", waited(1509), NodeTimeout, "for 1.501 s"},
		{"half the bound for a grant between two attempts", waited(every(250)...), Unexplained, ""},
		{"more than that", waited(every(251)...), NodeTimeout, "it sent nothing to any node"},
	})
}

// A write belongs to the stretch of its lease that had begun when it took effect, and what kept it from the store was there
// between the grant and then.
func TestWhatHeldUpAWriteWasThereMeanwhile(t *testing.T) {
	late := func(from, until int64, kind, target string) func(*story) {
		return func(s *story) {
			s.grant("c1", 0, 10, 900)
			s.lasting(from, until, kind, target)
			s.grant("c2", 1000, 1010, 900)
			s.write("c2", 1, 1020, 1030, history.TypeOK, "", "v1", 0)
			s.write("c1", 1, 900, 1520, history.TypeOK, "", "v2", 0)
		}
	}
	requireEdges(t, ProtectedData, []edge{
		{"as the lease began anew", func(s *story) {
			s.extend("c1", s.grant("c1", 0, 10, 100), 150, 200, 900)
			s.grant("c2", 120, 130, 50)
			s.write("c2", 1, 140, 150, history.TypeOK, "", "v1", 0)
			s.write("c1", 1, 190, 200, history.TypeOK, "", "v2", 0)
		}, Unexplained, "both acted within their leases"},
		{"paused until the grant", late(1, 10, "pause", "c1"), HolderStops, "c1's lease ended at 0.910 s"},
		{"paused for longer", late(1, 11, "pause", "c1"), HolderStops, "c1 was paused"},
		{"held until the write", late(1519, 1600, "hold", "c1-store"), HolderStops, "link c1-store"},
		{"held from then on", late(1520, 1600, "hold", "c1-store"), HolderStops, "c1's lease ended at 0.910 s"},
	})
}

// Of a wait that nothing explains it is said which nodes its client's commands reached, where these
// are no majority.
func TestAWaitOfWhichNothingIsKnownTellsWhoWasAsked(t *testing.T) {
	asked := func(nodes ...string) func(*story) {
		return func(s *story) {
			s.refused(100, "c1", "t1", "nil", nodes...)
			s.attempt("c1", 10, 3000, history.TypeFail)
		}
	}
	also := func(at int64) func(*story) {
		return func(s *story) { asked("n1", "n4")(s); s.refused(at, "c1", "t1", "nil", "n2") }
	}
	requireEdges(t, DeadlockFreedom, []edge{
		{"nobody", asked(), Unexplained, "what c1 sent to take the key reached no node"},
		{"two of five", asked("n1", "n4"), Unexplained, "what c1 sent to take the key reached n1 n4 alone"},
		{"three", asked("n1", "n2", "n4"), Unexplained, "the history does not show why c1 had to wait"},
		{"a third before the call", also(9), Unexplained, "reached n1 n4 alone"},
		{"a third at the call", also(10), Unexplained, "the history does not show why"},
		{"a third as it ended", also(3000), Unexplained, "the history does not show why"},
		{"a third after it", also(3001), Unexplained, "reached n1 n4 alone"},
	})
}

// Of several nodes that had just started, the one that went down first is named, and of two at once the first that gave its key.
func TestWhichNodeHadBeenDown(t *testing.T) {
	for named, kill := range map[string]func(*story){
		"include n3, which had been down": func(s *story) {
			s.lasting(1, 5, "kill", "n3")
			s.lasting(2, 6, "kill", "n2")
		},
		"include n2, which had been down": func(s *story) { s.lasting(1, 5, "kill", "n3", "n2") },
	} {
		s := tale()
		kill(s)
		s.givesUp(2, "n1", "n2", "n3")
		r := s.judged(t, DeadlockFreedom)
		require.NotEmpty(t, r.Violations, r.Reason)
		require.Contains(t, r.Violations[0].Blame.Why, named)
	}
}
