package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// Only its commands show which of the configured nodes a lock uses: three of five, for example, or the one that a hash
// of the key selects. A wait is a violation only if it is one for each set of nodes that the lock may use.
func TestUsedNodes_LockMayUseSomeNodes(t *testing.T) {
	all := []string{"n1", "n2", "n3", "n4", "n5"}
	for name, c := range map[string]struct {
		used, gone []string
		violated   bool
	}{
		"a majority of all fails":                 {all, all[:3], false},
		"a majority of all is left":               {all, all[:2], true},
		"a majority of those that it uses fails":  {all[:3], all[:2], false},
		"a majority of either is left":            {all[:3], all[:1], true},
		"it may be on those that fail beside":     {all[:3], all[3:], true},
		"they would be the majority":              {all[:3], all[2:], false},
		"its only node fails":                     {all[2:3], all[2:3], false},
		"it may be on two, of which one fails":    {all[2:3], all[:1], false},
		"no node fails":                           {all[2:3], nil, true},
		"nobody was seen to ask a node":           {nil, all[:2], true},
		"nobody was seen to ask, and three fail":  {nil, all[:3], false},
		"four of five are used, and two of these": {all[:4], all[:2], false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, property := range []string{FaultTolerance, DeadlockFreedom} {
				s := newStory()
				s.refused(1, "c1", "x", "nil", c.used...)
				for _, node := range c.gone {
					s.lasting(5, 5000, "pause", node)
				}
				s.attempt("c2", 10, 4000, history.TypeFail)
				require.Equal(t, c.violated, s.violated(t, property), property)
			}
		})
	}
}

// A wait for unavailable nodes earns a verdict only if too few nodes were left whichever nodes the lock uses.
func TestUsedNodes_WaitCountsOnlyIfCertainlyBlocked(t *testing.T) {
	waits := func(used, gone int) func(*story) {
		return func(s *story) {
			s.refused(1, "c1", "x", "nil", s.header.Nodes[:used]...)
			s.lasting(5, 500, "pause", s.header.Nodes[:gone]...)
			s.grant("c2", 10, 600, 900)
		}
	}
	requireVerdicts(t, DeadlockFreedom, []storyCase{
		{"two of three used", waits(3, 2), history.Inconclusive, "vacuous"},
		{"three of three used", waits(3, 3), history.Holds, ""},
		{"three of five used", waits(5, 3), history.Holds, ""},
	})
}

func TestUsedNodes_FaultTolerance(t *testing.T) {
	// A lock that declares its quorum uses all nodes, even if its commands reached three of five.
	declares := func(quorum int) func(*story) {
		return func(s *story) {
			s.header.Quorum = quorum
			s.refused(1, "c1", "x", "nil", majority...)
			s.lasting(5, 5000, "pause", "n1", "n2")
			s.attempt("c2", 10, 4000, history.TypeFail)
		}
	}
	// A release that leaves its key on two of the three nodes in use, of five, blocks other clients if the lock uses no
	// more.
	leaves := func(left, used int) func(*story) {
		return func(s *story) {
			s.header.Bounds.Release = 300 * ms
			nodes := s.header.Nodes[:used]
			s.sets(5, "c1", "c1.1", 2000, nodes...)
			s.grant("c1", 0, 10, 900)
			s.deletes(21, "c1", "c1.1", nodes[left:]...)
			s.release("c1", 1, 20, 30, history.TypeOK)
			s.grant("c2", 600, 610, 900)
		}
	}
	requireVerdicts(t, FaultTolerance, []storyCase{
		{"no quorum is declared, and two of three used are gone", declares(0), history.Inconclusive, reasonNoFreeLock},
		{"a quorum is declared", declares(3), history.Violated, ""},
		{"a key is left on two of three", leaves(2, 3), history.Inconclusive,
			`unknown: c1 released "k1" and may have left its key on n1, n2`},
		{"a key is left on one of three", leaves(1, 3), history.Holds, ""},
		{"a key is left on two of five", leaves(2, 5), history.Holds, ""},
		{"a key is left on three of five", leaves(3, 5), history.Violated, ""},
	})
}

// A fault on a node that the lock does not use has no effect: no command reached it, though it was healthy during a
// request. If it was never healthy, its use is unknown.
func TestUsedNodes_FaultOnUnusedNode_HasNoEffect(t *testing.T) {
	killed := func(used int, at int64) func(*story) {
		return func(s *story) {
			s.sets(5, "c1", "c1.1", 1000, s.header.Nodes[:used]...)
			s.grant("c1", 1, 10, 900)
			s.instant(at, "kill", "n5")
			s.grant("c2", 20, 1100, 900)
		}
	}
	requireVerdicts(t, MutualExclusion, []storyCase{
		{"the lock uses it", killed(5, 100), history.Holds, ""},
		{"it does not", killed(3, 100), history.Inconclusive, "vacuous: the fault kill on n5 at 0.100 s affected nothing"},
		{"the node was not well", killed(4, 0), history.Holds, ""},
	})
}
