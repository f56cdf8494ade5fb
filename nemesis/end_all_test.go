package nemesis

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// What is under way when its sender or receiver ends does as TCP has it, on every
// cluster: what a process has written arrives, and the end of its connections
// after it; what reaches nobody is lost. One client takes the lock on two of three
// nodes, whose links are slow in one direction; what has set out then meets an end.
func TestEndAll_FaultsStillInEffect(t *testing.T) {
	const slow = 500 * time.Millisecond
	nodes := []string{"n1", "n2"}
	for name, tc := range map[string]struct {
		slow   cluster.Direction
		end    []Fault
		want   history.Type // of the acquire; "" if its client does not live to tell
		leaves int          // keys that the nodes have in the end
	}{
		"replies of nodes that are killed": {slow: cluster.ToClient, end: []Fault{{Kind: Kill, Targets: nodes}}, want: history.TypeOK},
		"replies of nodes that shut down": {slow: cluster.ToClient, end: []Fault{{Kind: Shutdown, Targets: nodes}},
			want: history.TypeOK},
		"replies of nodes that come back": {slow: cluster.ToClient,
			end: []Fault{{Kind: Kill, Targets: nodes}, {Kind: Start, Targets: nodes}}, want: history.TypeOK, leaves: 2},
		"replies of nodes that are paused": {slow: cluster.ToClient, end: []Fault{{Kind: Pause, Targets: nodes}}, want: history.TypeOK},
		"replies to a client that is paused": {slow: cluster.ToClient,
			end: []Fault{{Kind: Pause, Targets: []string{"c1"}}}, want: history.TypeOK, leaves: 2},
		"replies to a client that is killed": {slow: cluster.ToClient, end: []Fault{{Kind: Kill, Targets: []string{"c1"}}}, leaves: 2},
		"commands to nodes that are killed":  {slow: cluster.ToNode, end: []Fault{{Kind: Kill, Targets: nodes}}, want: history.TypeFail},
		"commands to nodes that come back": {slow: cluster.ToNode,
			end: []Fault{{Kind: Kill, Targets: nodes}, {Kind: Start, Targets: nodes}}, want: history.TypeFail},
		"commands to nodes that are paused":   {slow: cluster.ToNode, end: []Fault{{Kind: Pause, Targets: nodes}}, want: history.TypeFail},
		"commands of a client that is killed": {slow: cluster.ToNode, end: []Fault{{Kind: Kill, Targets: []string{"c1"}}}, leaves: 2},
		"replies of dead nodes, behind a cut": {slow: cluster.ToClient,
			end: []Fault{{Kind: Cut, Targets: []string{"c1-n1", "c1-n2"}, Direction: cluster.Both},
				{Kind: Kill, Targets: nodes}},
			want: history.TypeFail},
		"replies of live nodes, behind a cut": {slow: cluster.ToClient,
			end:  []Fault{{Kind: Cut, Targets: []string{"c1-n1", "c1-n2"}, Direction: cluster.Both}},
			want: history.TypeFail, leaves: 2},
	} {
		t.Run(name, func(t *testing.T) {
			test := func(t *testing.T, r *rig) {
				r.apply(t, Fault{Kind: Cut, Targets: []string{"c1-n3"}, Direction: cluster.Both})
				r.apply(t, Fault{Kind: Delay, Targets: []string{"c1-n1", "c1-n2"}, Direction: tc.slow, Delay: slow})
				done := r.clients.do(t, "c1", client.Command{Do: client.DoAcquire, Key: "k1", Within: 2 * ttl})
				r.awaitUnderWay(t, tc.slow, nodes...)
				for _, f := range tc.end {
					r.apply(t, f)
				}
				r.sleep(3 * slow / 2)
				if len(r.nemesis.activeOn("c1", Pause)) > 0 {
					r.apply(t, Fault{Kind: Resume, Targets: []string{"c1"}})
				}
				if tc.want != "" {
					<-done
					require.Equal(t, tc.want, r.outcomes("c1", history.OpAcquire)[0].Type)
				}
				require.Equal(t, tc.leaves, r.keys(t, nodes...))
			}
			patient := locks.Options{NodeTimeout: ttl * 8 / 10, Tries: 1}
			t.Run("virtual", func(t *testing.T) { onVirtualWith(t, patient, test) })
			t.Run("local", func(t *testing.T) { onLocalWith(t, func(*cluster.Config) {}, patient, test) })
		})
	}
}

// awaitUnderWay waits until c1's SETs, or the nodes' replies to them, have set out.
func (r *rig) awaitUnderWay(t *testing.T, direction cluster.Direction, nodes ...string) {
	t.Helper()
	for _, n := range nodes {
		for tries := 0; ; tries++ {
			sent, answered := r.cluster.Link("c1", n).Count("SET")
			if direction == cluster.ToNode && sent > 0 || direction == cluster.ToClient && answered > 0 {
				break
			}
			require.Less(t, tries, 10_000, "nothing sets out to %s", n)
			r.sleep(time.Millisecond)
		}
	}
}

// keys counts the nodes that are up and have c1's key.
func (r *rig) keys(t *testing.T, nodes ...string) (have int) {
	t.Helper()
	for _, n := range nodes {
		seen, err := r.cluster.Node(n).Look(context.Background())
		require.NoError(t, err)
		have += len(seen.Keys)
	}
	return have
}

// How long a fault lasted is counted from its beginning, whenever that was.
func TestFaultEnd_RecordsDuration(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		r.sleep(10 * time.Second)
		begun := r.apply(t, Fault{Kind: Busy, Targets: []string{"n1"}, Duration: 300 * time.Millisecond})
		r.sleep(300 * time.Millisecond)
		require.NoError(t, r.nemesis.End(context.Background(), begun[0]))
		require.InDelta(t, 300*time.Millisecond, duration(t, r.last(t).Measured, "lasted"), float64(10*time.Millisecond))

		r.apply(t, Fault{Kind: Pause, Targets: []string{"n2"}})
		r.sleep(300 * time.Millisecond)
		r.apply(t, Fault{Kind: Kill, Targets: []string{"n2"}})
		for _, f := range r.faults() {
			if f.Kind == string(Pause) && f.Phase == history.PhaseEnd {
				require.InDelta(t, 300*time.Millisecond, duration(t, f.Measured, Find(string(Pause)).endsWithProcess), float64(10*time.Millisecond))
			}
		}
	})
}

// Faults are numbered from 1 in the order in which they begin; only a delay says by how much.
func TestFaultIDsAreSequential(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		r.apply(t, Fault{Kind: Flush, Targets: []string{"n1"}})
		r.apply(t, Fault{Kind: Delay, Targets: []string{"c1-n1"}, Delay: 5 * time.Millisecond})
		r.apply(t, Fault{Kind: Cut, Targets: []string{"c1-n2"}, Delay: 5 * time.Millisecond, Direction: cluster.ToNode})
		r.apply(t, Fault{Kind: Cut, Targets: []string{"c1-n3"}})
		var ids []int
		var by []int64
		for _, f := range r.faults() {
			ids, by = append(ids, f.ID), append(by, f.Delay)
		}
		require.Equal(t, []int{1, 2, 3, 4}, ids)
		require.Equal(t, []int64{0, int64(5 * time.Millisecond), 0, 0}, by)
		require.Equal(t, string(cluster.ToNode), r.faults()[2].Requested["direction"])
		require.Equal(t, string(cluster.Both), r.faults()[3].Requested["direction"])
	})
}
