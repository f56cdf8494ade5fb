package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// No client waits any more for a command that a link held for a TTL and then delivered: its key is an obstacle.
// Successive faults of one link, each shorter than a TTL, hold a command for their whole time.
func TestCommandHeldForATTL_KeyIsAnObstacle(t *testing.T) {
	held := func(faults ...[2]int64) func(*story) {
		return func(s *story) {
			s.attempt("c1", 0, 5, history.TypeFail)
			for _, f := range faults {
				s.lasting(f[0], f[1], "hold", links("c1")...)
			}
			s.silent(1001, "c1", "c1.1", majority...)
			s.refused(1020, "c2", "c2.1", "c1.1", majority...)
			s.attempt("c2", 1010, 2000, history.TypeFail)
		}
	}
	requireVerdicts(t, FaultTolerance, []storyCase{
		{"held for a TTL", held([2]int64{1, 1001}), history.Inconclusive, reasonNoFreeLock},
		{"held for less", held([2]int64{2, 1001}), history.Violated, ""},
		{"before the link let go", held([2]int64{1, 1003}), history.Violated, ""},
		{"by two in turn", held([2]int64{1, 600}, [2]int64{500, 1001}), history.Inconclusive, reasonNoFreeLock},
		{"by three in turn", held([2]int64{1, 400}, [2]int64{300, 700}, [2]int64{600, 1001}), history.Inconclusive,
			reasonNoFreeLock},
		{"by two with the link free between them", held([2]int64{1, 400}, [2]int64{600, 1001}), history.Violated, ""},
		{"by two in turn, and both long over then", held([2]int64{1, 400}, [2]int64{300, 900}), history.Violated, ""},
	})
}

func TestUnhealthy(t *testing.T) {
	// one fault on one message ends when the node has received and answered two SETs over the link during it
	answers := func(arrived, answered [2]int64) func(*story) {
		return func(s *story) {
			s.counted(100, 500, 1, history.Fault{Kind: "lose", Count: 1})
			for i := range arrived {
				s.silent(arrived[i], "c1", "t1", "n1")(answered[i], "OK", true)
			}
		}
	}
	// one that loses a reply to a SET ends after that reply: a lock that waits for it forever has no excuse
	loses := func(command string, part history.Part) func(*story) {
		return func(s *story) {
			s.counted(100, 500, 1, history.Fault{Kind: "lose", Count: 1, Asked: history.Asked{Command: command, Part: part}})
			s.silent(150, "c1", "t1", "n1")(170, "OK", true)
		}
	}
	// a tenth of the bound for a grant is prompt
	slowDisk := func(answered int64) func(*story) {
		return func(s *story) {
			s.lasting(0, 500, "slow-fsync", "n1")
			s.silent(100, "c1", "t1", "n1")(answered, "OK", true)
			s.look(600, "n1", "r1", "", 0)
		}
	}
	// lost messages disturb a link until the last could have been answered; if more could have been lost, for the time
	// of a retry
	lost := func(until int64, times, affected int, sent ...int64) func(*story) {
		return func(s *story) {
			f := history.Fault{Kind: "lose", Count: times}
			for _, t := range sent {
				f.SentAt = append(f.SentAt, t*ms)
			}
			s.counted(0, until, affected, f)
		}
	}
	// a reply that is late by less than a tenth of the bound is prompt, even if pauses between attempts may be long
	slow := func(delays ...[3]int64) func(*story) { // from, until, delay
		return func(s *story) {
			s.header.Bounds.Grant, s.header.Bounds.Release = 1500*ms, 500*ms
			for _, d := range delays {
				s.slow(d[0], d[1], d[2], "c1-n1")
			}
		}
	}
	for _, test := range []struct {
		name string
		tell func(*story)
		want []span // in ms
	}{
		{"a little slower", slow([3]int64{0, 9000, 20}), nil},
		{"much slower", slow([3]int64{0, 9000, 25}), []span{{0, 9000}}},
		{"two delays that are little each", slow([3]int64{0, 9000, 12}, [3]int64{1, 8000, 13}), []span{{1, 8000}}},
		{"one delay after the other", slow([3]int64{0, 2000, 20}, [3]int64{2000, 9000, 20}), nil},
		{"two, for no longer than both do", slow([3]int64{0, 1000, 20}, [3]int64{0, 9000, 20}), []span{{0, 1000}}},
		{"the one message is lost at 100", lost(9000, 1, 1, 100), []span{{0, 150}}},
		{"the first of two messages is", lost(9000, 2, 1, 100), []span{{0, 600}}},
		{"none is", lost(9000, 2, 0), []span{{0, 0}}},
		{"the fault is over before that", lost(120, 1, 1, 100), []span{{0, 120}}},
		{"more were lost than the history shows", lost(9000, 1, 2, 100), []span{{0, 9000}}},
		{"a bad disk that answers promptly", slowDisk(150), []span{{0, 100}, {200, 600}}},
		{"a bad disk that does not", slowDisk(151), []span{{0, 600}}},
		{"two SETs", answers([2]int64{100, 200}, [2]int64{110, 210}), []span{{100, 200}}},
		{"the first came before the fault", answers([2]int64{99, 200}, [2]int64{110, 210}), []span{{100, 500}}},
		{"the second was answered in it", answers([2]int64{100, 490}, [2]int64{110, 499}), []span{{100, 490}}},
		{"the second was answered after it", answers([2]int64{100, 490}, [2]int64{110, 500}), []span{{100, 500}}},
		{"a reply to whoever takes a key", loses("take", "reply"), []span{{100, 220}}},
		{"a reply to a SET", loses("SET", "reply"), []span{{100, 220}}},
		{"the command itself", loses("take", "command"), []span{{100, 500}}},
		{"a reply to a release", loses("release", "reply"), []span{{100, 500}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			test.tell(s)
			var got []span
			for _, u := range s.history(t, 0).record.unhealthy("c1", "n1") {
				got = append(got, span{u.from / ms, u.until / ms})
			}
			require.Equal(t, test.want, got)
		})
	}
}

// The SETs of c1 reach three nodes, and are never answered; c2 is refused, and waits. The key is an obstacle only if c1
// cannot delete it.
func TestUnansweredSets_OnTheirWay(t *testing.T) {
	paused := func(s *story) { s.lasting(1, 2900, "pause", majority...) }
	cut := func(direction history.Direction) func(*story) {
		return func(s *story) {
			s.during(1, 900, history.Fault{Kind: "cut", Targets: links("c1"), Asked: history.Asked{Direction: direction}})
		}
	}
	lives := func(s *story) { s.grant("c1", 0, 10, 900) }
	dies := func(s *story) { s.attempt("c1", 0, 0, ""); s.instant(3, "kill", "c1") }
	sets := func(c1, fault func(*story), refused, until int64) func(*story) {
		return func(s *story) {
			c1(s)
			fault(s)
			s.silent(2, "c1", "c1.1", majority...)
			s.refused(refused, "c2", "c2.1", "c1.1", majority...)
			s.attempt("c2", refused-50, until, history.TypeFail)
		}
	}
	requireVerdicts(t, FaultTolerance, []storyCase{
		{"of one that lives on they are its own to clear away", sets(lives, func(*story) {}, 960, 2000),
			history.Violated, ""},
		{"they are carried out when the node runs on", sets(dies, paused, 3100, 4000), history.Inconclusive,
			reasonNoFreeLock},
		{"also where their client only has no lease any more", sets(lives, paused, 2951, 4000), history.Inconclusive,
			reasonNoFreeLock},
		{"unless their answers may still come", sets(lives, paused, 2950, 4000), history.Violated, ""},
		{"they are carried out when their link is healed", sets(dies, cut("both"), 960, 3700), history.Inconclusive,
			reasonNoFreeLock},
		{"in both directions, or in theirs", sets(dies, cut("to-node"), 960, 3700), history.Inconclusive,
			reasonNoFreeLock},
		{"and at once where only the way back was", sets(dies, cut("to-client"), 960, 3700), history.Violated, ""},
	})
}

// The SETs of a killed client reach three nodes, and are never answered: others must wait for their expiry, as far as
// replies show no other key. A script refuses by a number in place of nil.
func TestUnansweredSets_OfAKilledClient(t *testing.T) {
	sees := func(command history.Command, reply string) func(*story) {
		return func(s *story) {
			for _, n := range majority {
				s.command(20, "c2>"+n, command)(20, reply, command.Name == "GET")
			}
		}
	}
	get := history.Command{Name: "GET", Key: "k1", Effect: history.EffectRead}
	script := history.Command{Name: "EVAL", Key: "k1", Token: "c2.1", Effect: history.EffectSet}
	requireVerdicts(t, FaultTolerance, []storyCase{
		{"a refusal names them", func(s *story) { s.refused(20, "c2", "c2.1", "c1.1", majority...) }, history.Inconclusive,
			reasonNoFreeLock},
		{"a refusal names another's", func(s *story) { s.refused(20, "c2", "c2.1", "c3.1", majority...) },
			history.Violated, ""},
		{"a GET shows them", sees(get, "c1.1"), history.Inconclusive, reasonNoFreeLock},
		{"a GET shows another's", sees(get, "t9"), history.Violated, ""},
		{"a script's number names nobody", sees(script, "0"), history.Inconclusive, reasonNoFreeLock},
		{"nor does a negative one", sees(script, "-1"), history.Inconclusive, reasonNoFreeLock},
		{"unless it is a client's token", func(s *story) {
			s.sets(0, "c3", "7", 5, majority...)
			sees(script, "7")(s)
		}, history.Violated, ""},
		{"nothing shows them, if others only ask whether the key exists", func(*story) {}, history.Inconclusive,
			reasonNoFreeLock},
		{"they met another's key, and left none", func(s *story) { s.sets(0, "c3", "t3", 20, majority...) },
			history.Violated, ""},
	}, func(s *story) {
		s.attempt("c1", 0, 0, "")
		s.silent(1, "c1", "c1.1", majority...)
		s.instant(3, "kill", "c1")
		s.attempt("c2", 10, 1000, history.TypeFail)
	})
}

// The extension of a killed client reaches three nodes, and is never answered: its keys last longer than its last reply
// says.
func TestUnansweredExtensions(t *testing.T) {
	extends := func(at int64, killed, refusal string) func(*story) {
		return func(s *story) {
			s.holder(2000, 1900)
			s.instant(1500, "kill", killed)
			for _, n := range majority {
				s.command(at, "c1>"+n, history.Command{Name: "EVAL", Key: "k1", Token: "c1.1",
					Expiry: 2000 * ms, Effect: history.EffectExtend})
			}
			s.refusedAgain("c2", "c2.1", refusal, 2500, 3600, majority...)
			s.grant("c2", 1800, 3710, 900)
		}
	}
	requireVerdicts(t, FaultTolerance, []storyCase{
		{"of a client that is killed", extends(1700, "c1", "c1.1"), history.Holds, ""},
		{"that refusals do not name", extends(1700, "c1", "nil"), history.Holds, ""},
		{"of a client that lives", extends(1700, "c3", "c1.1"), history.Violated, ""},
		{"that comes when the keys are gone", extends(2300, "c1", "nil"), history.Violated, ""},
	})
}

// A command of a killed client is executed after the kill: its key is an obstacle until it expires, and no longer. A
// grant that is recorded then is no client's lease.
func TestKilledClient_PendingSetStillTakesEffect(t *testing.T) {
	late := func(granted int64) func(*story) {
		return func(s *story) {
			s.attempt("c1", 0, 0, "")
			s.instant(2, "kill", "c1")
			s.sets(400, "c1", "c1.1", 1000, majority...)
			s.refusedAgain("c2", "c2.1", "c1.1", 450, 1400, majority...)
			s.grant("c2", 100, granted, 900)
		}
	}
	requireVerdicts(t, FaultTolerance, []storyCase{
		{"granted as it expires: fault tolerance", late(1450), history.Inconclusive, reasonNoFreeLock},
		{"granted later: fault tolerance", late(1950), history.Violated, ""},
	})
	requireVerdicts(t, DeadlockFreedom, []storyCase{
		{"granted as it expires: deadlock freedom", late(1450), history.Holds, ""},
		{"granted later: deadlock freedom", late(1950), history.Violated, ""},
	})
	s := newStory()
	s.instant(20, "kill", "c1")
	s.grant("c1", 0, 30, 900)
	s.grant("c2", 40, 50, 900)
	r := s.requireVerdict(t, MutualExclusion, history.Holds, "")
	require.EqualValues(t, 1, r.Measured["grants"])
}
