package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// partitionedHolder lets c1 hold the lock and not release its key, so that c2 must wait until it expires.
func partitionedHolder(s *story) {
	s.holder(1000, 900)
	s.lasting(11, 1300, "cut", links("c1")...)
	s.release("c1", 1, 20, 60, history.TypeInfo)
	s.sets(1010, "c2", "c2.1", 1000, majority...)
	s.grant("c2", 30, 1020, 900)
}

// renamed changes the servers' names of a story's keys.
func renamed(name func(c *history.Command) string) func(*story) {
	return func(s *story) {
		for i, e := range s.events {
			if e.Command != nil {
				c := *e.Command
				c.Key = name(&c)
				s.events[i].Command = &c
			}
		}
	}
}

func renamedTo(name string) func(*story) {
	return renamed(func(*history.Command) string { return name })
}

// A lock need not declare the names of its keys: its commands show them.
func TestKeyNames_AreLearnedFromAcquires(t *testing.T) {
	requireVerdicts(t, FaultTolerance, []storyCase{
		{"the caller's name", renamedTo("k1"), history.Holds, ""},
		{"with a prefix", renamedTo("lock:k1"), history.Holds, ""},
		{"a hash", renamedTo("a2ab1959"), history.Holds, ""},
		{"another name for each lease", renamed(func(c *history.Command) string { return "k1:" + c.Token }),
			history.Inconclusive, `unknown: the lock stores "k1" on the servers as "k1:c1.1", "k1:c2.1"`},
	}, partitionedHolder)
}

// A release may free the lock by another key than the one that it leaves, such as a version in the key's name.
func TestKeyNames_ReleaseByUnknownCommand_IsInconclusive(t *testing.T) {
	increments := func(reply string) func(*story) {
		return func(s *story) {
			s.command(25, "c1>n1", history.Command{Name: "INCR", Key: "k1:version"})(25, reply, true)
		}
	}
	requireVerdicts(t, FaultTolerance, []storyCase{
		{"it was carried out", increments("1"), history.Inconclusive, `unknown: c1 released "k1" with INCR of "k1:version"`},
		{"it failed", increments("error: ERR value is not an integer"), history.Violated, ""},
	}, func(s *story) {
		s.header.Bounds.Release = 300 * ms
		s.holder(1000, 900)
		renamedTo("k1:v0")(s)
		s.release("c1", 1, 20, 30, history.TypeOK)
		s.grant("c2", 1100, 1110, 900)
	})
}

// carries is a command and its reply.
func (n *serverKeys) carries(c history.Command, reply string, done bool) {
	answered := c
	answered.Reply, answered.Done = reply, done
	n.command(0, &history.Event{Process: "c1>n1", Type: history.TypeCommand, Command: &c})
	n.command(0, &history.Event{Process: "c1>n1", Type: history.TypeReply, Command: &answered})
}

// One key on the servers may stand for several callers' keys. Then it is unknown which clients it blocks. So it is
// while a client acquires two keys at once.
func TestKeyNames_SharedByKeys_AreUnknown(t *testing.T) {
	n := newServerKeys()
	acquire := func(key string) *operation {
		return &operation{process: "c1", key: key, op: history.OpAcquire}
	}
	serial := int64(0)
	takes := func(name string) {
		serial++
		n.carries(history.Command{Serial: serial, Name: "SET", Key: name, Effect: history.EffectSet}, "OK", true)
	}
	for _, key := range []string{"k1", "k2"} {
		o := acquire(key)
		n.operation(o, true)
		takes("lock")
		n.operation(o, false)
	}
	n.operation(acquire("k3"), true)
	k4 := acquire("k4")
	n.operation(k4, true)
	takes("lock:k4")
	n.operation(k4, false)
	takes("lock:k3")
	n.end()
	require.Equal(t, "lock", n.ofCaller("lock"))
	require.Equal(t, "k1", n.onServer("k1"))
	require.Equal(t, "k4", n.onServer("k4"))
	require.Equal(t, "lock:k3", n.onServer("k3"))
	require.Equal(t, "k3", n.ofCaller("lock:k3"))
}

// It is also unknown which clients a key blocks if it was set outside all known acquires, as by a background worker.
func TestKeyNames_SetOutsideAnAcquire_AreUnknown(t *testing.T) {
	requireVerdicts(t, FaultTolerance, []storyCase{
		{"under the caller's name", renamedTo("k1"), history.Inconclusive, reasonNoFreeLock},
		{"under another", renamedTo("lock:k1"), history.Inconclusive,
			`unknown: the lock stores "k1" on the servers as "lock:k1"`},
	}, func(s *story) {
		s.sets(1, "c1", "c1.1", 1000, s.header.Nodes...)
		s.attempt("c1", 2, 3, history.TypeInfo)
		s.instant(4, "kill", "c1")
		s.grant("c2", 10, 1020, 900)
	})
}

// A refused command has no effect under any name.
func TestKeyNames_RefusedCommand_IsIgnored(t *testing.T) {
	n := newServerKeys()
	n.operation(&operation{process: "c1", key: "k1", op: history.OpAcquire}, true)
	n.carries(history.Command{Serial: 1, Name: "FCALL", Key: "other"}, "error: ERR Function not found", false)
	n.end()
	require.Empty(t, n.unknownName([]*keyed{{name: "k1"}}))
}
