package nemesis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// What is under way when its sender or receiver ends does as TCP has it, on every
// cluster: what a process has written arrives, and the end of its connections
// after it; what reaches nobody is lost. One client takes the lock on two of three
// nodes, whose links are slow in one direction; what has set out then meets an end.
func TestMessagesUnderWay_WhenOneSideEnds(t *testing.T) {
	const slow = 500 * time.Millisecond
	nodes, links := []string{"n1", "n2"}, []string{"c1-n1", "c1-n2"}
	toNodes := func(kind Kind) Fault { return Fault{Kind: kind, Targets: nodes} }
	toClient := func(kind Kind) Fault { return Fault{Kind: kind, Targets: []string{"c1"}} }
	cut := Fault{Kind: Cut, Targets: links, Direction: history.Both}
	const dead history.Type = "" // who acquires does not live to tell
	for name, tc := range map[string]struct {
		slow   history.Direction
		end    []Fault
		want   history.Type // of the acquire
		leaves int          // keys that the nodes have in the end
	}{
		"replies of nodes that are killed":    {history.ToClient, []Fault{toNodes(Kill)}, history.TypeOK, 0},
		"replies of nodes that shut down":     {history.ToClient, []Fault{toNodes(Shutdown)}, history.TypeOK, 0},
		"replies of nodes that come back":     {history.ToClient, []Fault{toNodes(Kill), toNodes(Start)}, history.TypeOK, 2},
		"replies of nodes that are paused":    {history.ToClient, []Fault{toNodes(Pause)}, history.TypeOK, 0},
		"replies of dead nodes, behind a cut": {history.ToClient, []Fault{cut, toNodes(Kill)}, history.TypeFail, 0},
		"replies of live nodes, behind a cut": {history.ToClient, []Fault{cut}, history.TypeFail, 2},
		"replies to a client that is paused":  {history.ToClient, []Fault{toClient(Pause)}, history.TypeOK, 2},
		"replies to a client that is killed":  {history.ToClient, []Fault{toClient(Kill)}, dead, 2},
		"commands of a client that is killed": {history.ToNode, []Fault{toClient(Kill)}, dead, 2},
		"commands to nodes that are killed":   {history.ToNode, []Fault{toNodes(Kill)}, history.TypeFail, 0},
		"commands to nodes that come back":    {history.ToNode, []Fault{toNodes(Kill), toNodes(Start)}, history.TypeFail, 0},
		"commands to nodes that are paused":   {history.ToNode, []Fault{toNodes(Pause)}, history.TypeFail, 0},
	} {
		t.Run(name, func(t *testing.T) {
			patient := setting{options: locks.Options{NodeTimeout: ttl * 8 / 10, Tries: 1}}
			patient.onClusters(t, func(t *testing.T, r *rig) {
				r.apply(t, Fault{Kind: Cut, Targets: []string{"c1-n3"}})
				r.apply(t, Fault{Kind: Delay, Targets: links, Direction: tc.slow, Delay: slow})
				done := r.clients.do(t, "c1", client.Command{Do: client.DoAcquire, Key: "k1", Within: 2 * ttl})
				r.awaitUnderWay(t, tc.slow, nodes...)
				for _, f := range tc.end {
					r.apply(t, f)
				}
				r.sleep(3 * slow / 2)
				if len(r.nemesis.activeOn("c1", Pause)) > 0 {
					r.apply(t, toClient(Resume))
				}
				if tc.want != dead {
					<-done
					require.Equal(t, tc.want, r.outcomes("c1", history.OpAcquire)[0].Type)
				}
				require.Equal(t, tc.leaves, len(r.look(t, "n1").Keys)+len(r.look(t, "n2").Keys))
			})
		})
	}
}

// awaitUnderWay waits until c1's SETs, or the nodes' replies to them, have set out.
func (r *rig) awaitUnderWay(t *testing.T, direction history.Direction, nodes ...string) {
	t.Helper()
	for _, n := range nodes {
		for tries := 0; ; tries++ {
			sent, answered := r.cluster.Link("c1", n).Count("SET")
			if direction == history.ToNode && sent > 0 || direction == history.ToClient && answered > 0 {
				break
			}
			require.Less(t, tries, 10_000, "nothing sets out to %s", n)
			r.sleep(time.Millisecond)
		}
	}
}
