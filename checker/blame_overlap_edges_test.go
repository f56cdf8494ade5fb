package checker

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
)

func TestWhichNodesVotesAreBlamed(t *testing.T) {
	extended := func(at int64) func(*story) {
		return func(s *story) {
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2")
			s.grant("c1", 0, 10, 980)
			s.sets(15, "c2", "c2.1", 2000, "n4", "n5")
			s.grant("c2", 10, 20, 1500)
			s.extends(at, "c1", "", 1000, "n4")
		}
	}
	requireEdges(t, MutualExclusion, []edge{
		{"another's key extended while both believe", extended(989), "ExtendOwnership", ""},
		{"extended when that is over", extended(990), SameNodes, ""},
		{"the second lost its keys before its grant, and of the first none were seen", func(s *story) {
			s.refused(3, "c1", "c1.1", "x", "n1", "n2", "n3")
			s.grant("c1", 0, 10, 980)
			s.sets(15, "c2", "c2.1", 1000, "n1", "n2", "n3")
			s.instant(17, "flush", "n1")
			s.instant(18, "flush", "n2")
			s.grant("c2", 14, 20, 980)
		}, NodesRemember, "n1 was flushed at 0.017 s: c2's key was gone"},
		{"a majority was asked, and fewer had said yes", func(s *story) {
			s.refused(3, "c1", "c1.1", "x", "n3")
			s.sets(5, "c1", "c1.1", 1000, "n1", "n2")
			s.grant("c1", 0, 10, 980)
			s.instant(100, "flush", "n2")
			s.sets(295, "c2", "c2.1", 1000, "n2", "n4", "n5")
			s.grant("c2", 290, 300, 980)
		}, SameNodes, "c1 locks on n1 n2 n3, c2 on n2 n4 n5"},
	})
}

// Who still has a majority when it is granted the lock has lost it by none of the keys that it lost before.
func TestAMajorityThatIsLeftIsNoLoss(t *testing.T) {
	s := failover()
	s.sets(5, "c1", "c1.1", 1000, "n1")
	s.grant("c1", 0, 10, 980)
	s.instant(50, "flush", "n1")
	s.sets(60, "c2", "c2.1", 1000, "n1", "r1")
	s.instant(70, "flush", "n1")
	s.grant("c2", 55, 80, 980)
	require.Contains(t, s.requireBlame(t, MutualExclusion, NodesRemember, 50).Why, "c1's key was gone")
}

// Who was master when is told to the nanosecond; at one instant, the old one may have been first.
func TestWhenAReplicaWasPromoted(t *testing.T) {
	for set, broke := range map[int64]string{60: ReplicasHaveAll, 61: OneMaster} {
		s := failover()
		s.sets(set, "c1", "c1.1", 1000, "n1")
		s.grant("c1", 55, 65, 980)
		s.instant(60, "promote", "r1")
		s.sets(95, "c2", "c2.1", 1000, "r1")
		s.grant("c2", 90, 100, 980)
		s.requireBlame(t, MutualExclusion, broke, 60)
	}
	for seen, blamed := range map[int64]string{100: ReplicasHaveAll, 101: Unexplained} {
		s := failover()
		s.sets(5, "c1", "c1.1", 1000, "n1")
		s.grant("c1", 0, 10, 980)
		s.sets(95, "c2", "c2.1", 1000, "r1")
		s.grant("c2", 90, 100, 980)
		s.role(seen, "r1", history.RoleMaster)
		s.requireBlame(t, MutualExclusion, blamed, 100)
	}
}

// A WAIT counts for a lease whose client was answered from its call up to its grant.
func TestAWaitBelongsToItsAcquire(t *testing.T) {
	for answered, tells := range map[int64]bool{0: false, 1: true, 10: true, 11: false} {
		s := failover()
		s.add(answered, history.Event{Process: "harness", Type: history.TypeNote})
		s.add(answered, history.Event{Process: "c1>n1", Type: history.TypeReply,
			Command: &history.Command{Serial: 9, Name: "WAIT", Reply: "1"}})
		s.sets(5, "c1", "c1.1", 1000, "n1")
		s.grant("c1", 1, 10, 980)
		s.instant(60, "promote", "r1")
		s.sets(95, "c2", "c2.1", 1000, "r1")
		s.grant("c2", 90, 100, 980)
		blame := s.requireBlame(t, MutualExclusion, ReplicasHaveAll, 60)
		require.Equal(t, tells, strings.Contains(blame.Why, "WAIT had counted 1"), "answered at %d: %s", answered, blame.Why)
	}
}
