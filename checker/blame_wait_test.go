package checker

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
)

// splits is a wait in which two clients split the nodes so many times.
func (s *story) splits(times int64) {
	s.attempt("c1", 0, 5000, history.TypeFail)
	s.attempt("c2", 0, 5000, history.TypeFail)
	for i := range times {
		s.sets(2500*i+10, "c1", "t1", 20, "n1", "n2")
		s.sets(2500*i+11, "c2", "t2", 20, "n3", "n4")
	}
}

// givesUp is a wait in which a client is given the keys of nodes so many times, and gives them back.
func (s *story) givesUp(times int64, nodes ...string) {
	s.attempt("c1", 10, 5000, history.TypeFail)
	for i := range times {
		s.sets(100*i+10, "c1", fmt.Sprint("t", i), 1000, nodes...)
		s.deletes(100*i+60, "c1", fmt.Sprint("t", i), nodes...)
	}
}

// restartsAndGivesUp is c1 likewise, after n2 was down.
func (s *story) restartsAndGivesUp(up int64, nodes ...string) {
	s.lasting(1, up, "kill", "n2")
	s.givesUp(2, nodes...)
}

// silent is a SET that reached a node, and whose answer nobody saw.
func (s *story) silent(t int64, client, token, node string) {
	s.serial++
	s.add(t, history.Event{Process: client + ">" + node, Type: history.TypeCommand,
		Command: &history.Command{Serial: s.serial, Name: "SET", Key: "k1", Token: token, Expiry: 3000 * ms, Effect: history.EffectSet}})
}

// refused is a SET that nodes answered with the token that was there.
func (s *story) refused(t int64, client, token, holder string, nodes ...string) {
	for _, node := range nodes {
		s.silent(t, client, token, node)
		c := *s.events[len(s.events)-1].Command
		c.Reply = holder
		s.add(t, history.Event{Process: client + ">" + node, Type: history.TypeReply, Command: &c})
	}
}

// Each blame of a wait rests on premises; where one of them is not so, it is gone.
func TestBlamesOfWaitsRestOnEvidence(t *testing.T) {
	majority := []string{"n2", "n3", "n4"}
	tests := []struct {
		name  string
		tell  func(*story)
		broke string
	}{
		{"a livelock", func(s *story) { s.splits(2) }, "RetryJitter"},
		{"of which there was one round", func(s *story) { s.splits(1) }, Unexplained},
		{"of a lock that hung", func(s *story) { s.splits(0) }, Unexplained},
		{"of which one client has no rival", func(s *story) {
			s.attempt("c1", 0, 5000, history.TypeFail)
			s.attempt("c2", 0, 5000, history.TypeFail)
			for i := range int64(2) {
				s.sets(2500*i+10, "c1", "t1", 20, "n1", "n2")
				s.sets(2500*i+50, "c2", "t2", 20, "n3", "n4")
			}
		}, Unexplained},
		{"of which the last round was long ago", func(s *story) {
			s.attempt("c1", 0, 5000, history.TypeFail)
			s.attempt("c2", 0, 5000, history.TypeFail)
			for i := range int64(2) {
				s.sets(2400*i+10, "c1", "t1", 20, "n1", "n2")
				s.sets(2400*i+11, "c2", "t2", 20, "n3", "n4")
			}
		}, Unexplained},
		{"of which one client had a majority and waited for another node", func(s *story) {
			s.lasting(1, 5000, "cut", "c1-n5")
			s.attempt("c1", 0, 5000, history.TypeFail)
			s.attempt("c2", 0, 5000, history.TypeFail)
			for i := range int64(2) {
				s.sets(2500*i+10, "c1", "t1", 2400, "n1", "n2", "n3")
				s.sets(2500*i+11, "c2", "t2", 2400, "n4", "n5")
			}
		}, "NodeTimeout"},
		{"answers that came too late", func(s *story) { s.givesUp(2, "n1", "n2", "n3") }, AnswersInTime},
		{"but once", func(s *story) { s.givesUp(1, "n1", "n2", "n3") }, Unexplained},
		{"but from too few nodes", func(s *story) { s.givesUp(2, "n1", "n2") }, Unexplained},
		{"but of these one had just started", func(s *story) {
			s.restartsAndGivesUp(10, "n1", "n2", "n3")
		}, Unexplained},
		{"but a majority has run all the time", func(s *story) {
			s.restartsAndGivesUp(5, "n1", "n2", "n3", "n4")
		}, AnswersInTime},
		{"a node that was waited for", func(s *story) {
			s.lasting(5, 4000, "pause", "n1")
			s.attempt("c1", 10, 3000, history.TypeFail)
			s.sets(20, "c1", "t1", 10, majority...)
		}, "NodeTimeout"},
		{"behind a link that was cut", func(s *story) {
			s.lasting(5, 4000, "cut", "c1-n1")
			s.attempt("c1", 10, 3000, history.TypeFail)
			s.sets(20, "c1", "t1", 10, majority...)
		}, "NodeTimeout"},
		{"but the link was another's", func(s *story) {
			s.lasting(5, 4000, "cut", "c2-n1")
			s.attempt("c1", 10, 3000, history.TypeFail)
			s.sets(20, "c1", "t1", 10, majority...)
		}, Unexplained},
		{"but the link was hardly slower", func(s *story) {
			s.slow(5, 4000, 1, "c1-n1")
			s.attempt("c1", 10, 3000, history.TypeFail)
			s.sets(20, "c1", "t1", 10, majority...)
		}, Unexplained},
		{"but no majority had answered", func(s *story) {
			s.lasting(5, 4000, "pause", "n1")
			s.attempt("c1", 10, 3000, history.TypeFail)
			s.sets(20, "c1", "t1", 10, "n2", "n3")
		}, Unexplained},
		{"but it answered", func(s *story) {
			s.lasting(5, 4000, "pause", "n1")
			s.attempt("c1", 10, 3000, history.TypeFail)
			s.sets(20, "c1", "t1", 10, "n1", "n2", "n3", "n4")
		}, Unexplained},
		{"but the client went on asking", func(s *story) {
			s.lasting(5, 4000, "pause", "n1")
			s.attempt("c1", 10, 3000, history.TypeFail)
			s.sets(20, "c1", "t1", 10, majority...)
			for i := range int64(15) {
				s.sets(200*i, "c1", "t1", 10, majority...)
			}
		}, Unexplained},
		{"and was waited for in each of several attempts", func(s *story) {
			s.lasting(5, 4000, "pause", "n1")
			s.attempt("c1", 10, 3000, history.TypeFail)
			for i := range int64(3) {
				s.sets(1000*i+20, "c1", "t1", 10, majority...)
			}
		}, "NodeTimeout"},
		{"and answered in the end", func(s *story) {
			s.lasting(5, 2900, "pause", "n1")
			s.attempt("c1", 10, 3000, history.TypeFail)
			s.sets(20, "c1", "t1", 10, majority...)
			s.sets(2910, "c1", "t1", 10, "n1")
		}, "NodeTimeout"},
		{"but it was over before", func(s *story) {
			s.lasting(1, 5, "pause", "n1")
			s.attempt("c1", 10, 3000, history.TypeFail)
			s.sets(20, "c1", "t1", 10, majority...)
		}, Unexplained},
		{"a node that is down, and nobody else was asked", func(s *story) {
			s.instant(5, "kill", "n1")
			s.attempt("c1", 10, 3000, history.TypeFail)
		}, MajorityHealthy},
		{"but another was", func(s *story) {
			s.instant(5, "kill", "n1")
			s.attempt("c1", 10, 3000, history.TypeFail)
			s.sets(20, "c1", "t1", 10, "n2")
		}, Unexplained},
		{"the key of a client that was killed", func(s *story) {
			s.lasting(1, 4000, "lose", "c1-n1", "c1-n2", "c1-n3")
			s.sets(5, "c1", "t1", 2500, "n1", "n2", "n3")
			s.attempt("c1", 0, 0, "")
			s.instant(6, "kill", "c1")
			s.attempt("c2", 20, 3000, history.TypeFail)
		}, ReleaseArrives},
		{"but its attempt had failed before", func(s *story) {
			s.sets(5, "c1", "t1", 2500, "n1", "n2", "n3")
			s.attempt("c1", 0, 10, history.TypeFail)
			s.instant(15, "kill", "c1")
			s.attempt("c2", 20, 3000, history.TypeFail)
		}, "ReleaseEverywhere"},
		{"but its lease had been given back before", func(s *story) {
			s.sets(5, "c1", "c1.1", 2500, "n1", "n2", "n3")
			s.release("c1", s.grant("c1", 0, 10, 900), 12, 14, history.TypeOK)
			s.instant(15, "kill", "c1")
			s.attempt("c2", 20, 3000, history.TypeFail)
		}, "ReleaseEverywhere"},
		{"but another was killed", func(s *story) {
			s.sets(5, "c1", "t1", 2500, "n1", "n2", "n3")
			s.attempt("c1", 0, 10, history.TypeFail)
			s.instant(6, "kill", "c3")
			s.attempt("c2", 20, 3000, history.TypeFail)
		}, "ReleaseEverywhere"},
		{"but it was only paused", func(s *story) {
			s.sets(5, "c1", "t1", 2500, "n1", "n2", "n3")
			s.attempt("c1", 0, 10, history.TypeFail)
			s.lasting(6, 8, "pause", "c1")
			s.attempt("c2", 20, 3000, history.TypeFail)
		}, "ReleaseEverywhere"},
		{"but it was killed when the key was gone", func(s *story) {
			s.sets(5, "c1", "t1", 2500, "n1", "n2", "n3")
			s.attempt("c1", 0, 10, history.TypeFail)
			s.instant(2600, "kill", "c1")
			s.attempt("c2", 20, 3000, history.TypeFail)
		}, "ReleaseEverywhere"},
		{"but its attempt went on", func(s *story) {
			s.sets(5, "c1", "t1", 2500, "n1", "n2", "n3")
			s.attempt("c1", 0, 3000, history.TypeFail)
			s.attempt("c2", 20, 3000, history.TypeFail)
		}, Unexplained},
		{"but it was gone for most of the wait", func(s *story) {
			s.sets(5, "c1", "t1", 1490, "n1", "n2", "n3")
			s.attempt("c1", 0, 0, "")
			s.instant(6, "kill", "c1")
			s.attempt("c2", 20, 3000, history.TypeFail)
		}, Unexplained},
		{"but it was too few nodes'", func(s *story) {
			s.sets(5, "c1", "t1", 2500, "n1", "n2")
			s.attempt("c1", 0, 0, "")
			s.instant(6, "kill", "c1")
			s.attempt("c2", 20, 3000, history.TypeFail)
		}, Unexplained},
		{"a release that reached the node and changed nothing", func(s *story) {
			s.sets(5, "c1", "t1", 2500, "n1", "n2", "n3")
			s.attempt("c1", 0, 10, history.TypeFail)
			for _, node := range []string{"n1", "n2", "n3"} {
				s.add(8, history.Event{Process: "c1>" + node, Type: history.TypeCommand,
					Command: &history.Command{Serial: 900, Name: "EVAL", Key: "k1", Token: "t1", Effect: history.EffectDelete}})
			}
			s.look(2000, "n1", "r1", "t1", 500)
			s.attempt("c2", 20, 3000, history.TypeFail)
		}, Unexplained},
		{"a clock that ran slowly", func(s *story) {
			for _, node := range []string{"n1", "n2", "n3"} {
				s.clock(1, node, 1, 0.01, true)
			}
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
			s.grant("c1", 0, 10, 900)
			s.attempt("c2", 20, 4000, history.TypeFail)
		}, ClocksAgree},
		{"but it made no difference", func(s *story) {
			for _, node := range []string{"n1", "n2", "n3"} {
				s.clock(1, node, 1, 0.9999, true)
			}
			s.sets(5, "c1", "c1.1", 4000, "n1", "n2", "n3")
			s.grant("c1", 0, 10, 900)
			s.attempt("c2", 20, 4000, history.TypeFail)
		}, "ReleaseEverywhere"},
		{"a late SET of which no answer tells", func(s *story) {
			s.deletes(5, "c1", "t1", "n1", "n2", "n3")
			s.attempt("c1", 0, 10, history.TypeFail)
			for _, node := range []string{"n1", "n2", "n3"} {
				s.silent(15, "c1", "t1", node)
			}
			s.attempt("c2", 20, 3000, history.TypeFail)
			s.refused(100, "c2", "t2", "t1", "n1", "n2", "n3")
		}, "ReleaseAfterSet"},
		{"but no release was before it", func(s *story) {
			s.attempt("c1", 0, 10, history.TypeFail)
			for _, node := range []string{"n1", "n2", "n3"} {
				s.silent(15, "c1", "t1", node)
			}
			s.attempt("c2", 20, 3000, history.TypeFail)
			s.refused(100, "c2", "t2", "t1", "n1", "n2", "n3")
		}, "ReleaseEverywhere"},
		{"but the nodes do not name it", func(s *story) {
			s.deletes(5, "c1", "t1", "n1", "n2", "n3")
			s.attempt("c1", 0, 10, history.TypeFail)
			for _, node := range []string{"n1", "n2", "n3"} {
				s.silent(15, "c1", "t1", node)
			}
			s.attempt("c2", 20, 3000, history.TypeFail)
			s.refused(100, "c2", "t2", "nil", "n1", "n2", "n3")
		}, Unexplained},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := tale()
			test.tell(s)
			r := s.judged(t, DeadlockFreedom)
			require.Equal(t, history.Violated, r.Verdict, r.Reason)
			require.Equal(t, test.broke, r.Violations[0].Blame.Broke, r.Violations[0].Blame.Why)
		})
	}
}

func TestASlowClockWasNotPutBack(t *testing.T) {
	s := tale()
	for _, node := range []string{"n1", "n2", "n3"} {
		s.clock(1, node, 1, 0.01, true)
	}
	s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
	s.grant("c1", 0, 10, 900)
	s.attempt("c2", 20, 4000, history.TypeFail)
	require.Contains(t, s.requireBlame(t, DeadlockFreedom, ClocksAgree, 1).Why, "n1's clock ran at 0.01 from 0.001 s on")
}

// Without any one of the events that a blame cites, nobody is blamed for it.
func TestABlameIsGoneWithAnyEventThatItCites(t *testing.T) {
	for name, tell := range map[string]func(*story){
		"RetryJitter": func(s *story) {
			s.splits(0)
			for i := range int64(2) {
				s.sets(2500*i+10, "c1", "t1", 20, "n1")
				s.sets(2500*i+11, "c2", "t2", 20, "n3")
			}
		},
		"NodeTimeout": func(s *story) {
			s.fault(5, "pause", history.PhaseBegin, 1, "n1")
			s.attempt("c1", 10, 3000, history.TypeFail)
			s.sets(20, "c1", "t1", 10, "n2", "n3", "n4")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := tale()
			tell(s)
			events := s.end(0)
			blame := s.judged(t, DeadlockFreedom).Violations[0].Blame
			require.Equal(t, name, blame.Broke)
			require.Greater(t, len(blame.Events), 3)
			for _, cited := range blame.Events {
				if events[cited].Op != "" {
					continue // the wait itself
				}
				verdict, err := check(slices.Delete(slices.Clone(events), cited, cited+1))
				require.NoError(t, err)
				left := verdict.Of(DeadlockFreedom)
				require.Equal(t, history.Violated, left.Verdict)
				require.NotEqual(t, name, left.Violations[0].Blame.Broke, "without event %d", cited)
			}
		})
	}
}

func TestABlameOfLateAnswersRestsOnWhatItCites(t *testing.T) {
	s := tale()
	s.givesUp(2, "n1", "n2", "n3")
	s.requirePremises(t, DeadlockFreedom)
}
