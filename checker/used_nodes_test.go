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

// A lock that declares its quorum uses all nodes, even if its commands reached three of five.
func TestUsedNodes_QuorumDeclared_UsesAllNodes(t *testing.T) {
	for quorum, violated := range map[int]bool{0: false, 3: true} {
		s := newStory()
		s.header.Quorum = quorum
		s.refused(1, "c1", "x", "nil", "n1", "n2", "n3")
		s.lasting(5, 5000, "pause", "n1")
		s.lasting(5, 5000, "pause", "n2")
		s.attempt("c2", 10, 4000, history.TypeFail)
		require.Equal(t, violated, s.violated(t, FaultTolerance), quorum)
	}
}

// A wait for unavailable nodes earns a verdict only if too few nodes were left whichever nodes the lock uses.
func TestUsedNodes_WaitCountsOnlyIfCertainlyBlocked(t *testing.T) {
	for _, c := range []struct {
		used    int
		gone    []string
		verdict string
	}{
		{3, []string{"n1", "n2"}, history.Inconclusive}, {3, []string{"n1", "n2", "n3"}, history.Holds},
		{5, []string{"n1", "n2", "n3"}, history.Holds},
	} {
		s := newStory()
		s.refused(1, "c1", "x", "nil", s.header.Nodes[:c.used]...)
		for _, node := range c.gone {
			s.lasting(5, 500, "pause", node)
		}
		s.grant("c2", 10, 600, 900)
		s.requireVerdict(t, DeadlockFreedom, c.verdict, map[string]string{history.Inconclusive: "vacuous"}[c.verdict])
	}
}

// A release that leaves its key on two of the three nodes in use, of five, blocks other clients if the lock uses no
// more.
func TestUsedNodes_LeftoverOnAMajorityOfThem_IsUnknown(t *testing.T) {
	for _, c := range []struct {
		used, left int
		verdict    string
	}{{3, 2, history.Inconclusive}, {3, 1, history.Holds}, {5, 2, history.Holds}, {5, 3, history.Violated}} {
		s := newStory()
		s.header.Bounds.Release = 300 * ms
		used := s.header.Nodes[:c.used]
		s.sets(5, "c1", "c1.1", 2000, used...)
		s.grant("c1", 0, 10, 900)
		s.deletes(21, "c1", "c1.1", used[c.left:]...)
		s.release("c1", 1, 20, 30, history.TypeOK)
		s.grant("c2", 600, 610, 900)
		s.requireVerdict(t, FaultTolerance, c.verdict, map[string]string{
			history.Inconclusive: `unknown: c1 released "k1" and may have left its key on n1, n2`}[c.verdict])
	}
}

// A fault on a node that the lock does not use has no effect: no command reached it, though it was healthy during a
// request. If it was never healthy, its use is unknown.
func TestUsedNodes_FaultOnUnusedNode_HasNoEffect(t *testing.T) {
	for name, c := range map[string]struct {
		used   int
		from   int64
		reason string
	}{
		"the lock uses it":      {5, 100, ""},
		"it does not":           {3, 100, "vacuous: the fault kill on n5 at 0.100 s affected nothing"},
		"the node was not well": {4, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.sets(5, "c1", "c1.1", 1000, s.header.Nodes[:c.used]...)
			s.grant("c1", 1, 10, 900)
			s.instant(c.from, "kill", "n5")
			s.grant("c2", 20, 1100, 900)
			verdict := history.Holds
			if c.reason != "" {
				verdict = history.Inconclusive
			}
			s.requireVerdict(t, MutualExclusion, verdict, c.reason)
		})
	}
}
