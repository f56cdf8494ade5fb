package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
)

// failover begins a story of one node and its replica.
func failover() *story {
	s := tale()
	s.header.Nodes, s.header.Replicas = []string{"n1"}, map[string]string{"r1": "n1"}
	return s
}

// role is a look that shows a server's part in replication.
func (s *story) role(t int64, node string, role history.Role) {
	s.add(t, history.Event{Process: node, Type: history.TypeNode,
		Node: &history.Node{Up: true, RunID: node, Replication: &history.Replication{Role: role}}})
}

func TestBlameOfPromotions(t *testing.T) {
	for _, c := range []struct {
		name       string
		tell       func(*story)
		broke, why string
		time       int64
	}{
		{"the replica had not heard of the lock", func(s *story) {
			s.sets(5, "c1", "c1.1", 1000, "n1")
			s.grant("c1", 0, 10, 980)
			s.instant(50, "kill", "n1")
			s.instant(60, "promote", "r1")
			s.sets(95, "c2", "c2.1", 1000, "r1")
			s.grant("c2", 90, 100, 980)
		}, ReplicasHaveAll, "r1 was promoted at 0.060 s without c1's key, which n1 had acknowledged at 0.005 s: " +
			"replication is asynchronous", 60},
		{"WAIT counted what had not been copied", func(s *story) {
			s.sets(5, "c1", "c1.1", 1000, "n1")
			s.add(7, history.Event{Process: "c1>n1", Type: history.TypeReply,
				Command: &history.Command{Serial: 9, Name: "WAIT", Reply: "1"}})
			s.grant("c1", 0, 10, 980)
			s.instant(60, "promote", "r1")
			s.sets(95, "c2", "c2.1", 1000, "r1")
			s.grant("c2", 90, 100, 980)
		}, ReplicasHaveAll, "(WAIT had counted 1: it answers for its own connection alone)", 60},
		{"two masters", func(s *story) {
			s.role(10, "r1", history.RoleReplica)
			s.role(40, "r1", history.RoleMaster)
			s.sets(55, "c1", "c1.1", 1000, "n1")
			s.grant("c1", 50, 60, 980)
			s.sets(75, "c2", "c2.1", 1000, "r1")
			s.grant("c2", 70, 80, 980)
		}, OneMaster, "r1 was promoted at 0.040 s, but c1 still reached the old master, n1, which granted it the lock at 0.055 s", 40},
		{"two masters, the old one last", func(s *story) {
			s.role(40, "r1", history.RoleMaster)
			s.sets(55, "c2", "c2.1", 1000, "r1")
			s.grant("c2", 50, 60, 980)
			s.sets(75, "c1", "c1.1", 1000, "n1")
			s.grant("c1", 70, 80, 980)
		}, OneMaster, "c1 still reached the old master", 40},
		{"nobody was promoted", func(s *story) {
			s.role(40, "r1", history.RoleReplica)
			s.sets(55, "c2", "c2.1", 1000, "r1")
			s.grant("c2", 50, 60, 980)
			s.sets(75, "c1", "c1.1", 1000, "n1")
			s.grant("c1", 70, 80, 980)
		}, Unexplained, "", 80},
		{"the replica followed its master to nothing", func(s *story) {
			s.sets(5, "c1", "c1.1", 1000, "n1")
			s.look(8, "r1", "r1", "c1.1", 1000)
			s.grant("c1", 0, 10, 980)
			s.instant(50, "kill", "n1")
			s.instant(55, "start", "n1")
			s.look(80, "r1", "r1", "", 0)
			s.instant(85, "promote", "r1")
			s.sets(95, "c2", "c2.1", 1000, "r1")
			s.grant("c2", 90, 100, 980)
		}, NodesRemember, "n1 was killed at 0.050 s and came back empty, and r1, its replica, copied that", 50},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := failover()
			c.tell(s)
			require.Contains(t, s.requireBlame(t, MutualExclusion, c.broke, c.time).Why, c.why)
		})
	}
}
