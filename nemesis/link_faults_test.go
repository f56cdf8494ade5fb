package nemesis

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

func TestCut_NothingPasses(t *testing.T) {
	for _, direction := range []history.Direction{history.Both, history.ToNode, history.ToClient, ""} {
		t.Run(string(direction), func(t *testing.T) {
			onClusters(t, func(t *testing.T, r *rig) {
				links := []string{"c1-n1", "c1-n2"}
				r.hold(t, "k1") // connects
				r.apply(t, Fault{Kind: Cut, Targets: links, Direction: direction})
				require.Equal(t, history.TypeFail, r.acquire(t, "c1", "k2", 200*time.Millisecond).Type)
				require.Equal(t, history.TypeOK, r.acquire(t, "c2", "k3", time.Second).Type, "another client is not cut off")
				r.apply(t, Fault{Kind: Heal, Targets: links})
				for _, end := range r.faults()[2:] {
					require.Equal(t, history.PhaseEnd, end.Phase)
					require.Equal(t, "0", end.Measured["messages passed"])
					require.True(t, end.Effective)
				}
				r.sleep(100 * time.Millisecond)
				r.hold(t, "k4")
			})
		})
	}
}

func TestDelay_AtLeastRequested(t *testing.T) {
	for _, by := range []time.Duration{3 * time.Millisecond, 25 * time.Millisecond, 2500 * time.Microsecond} {
		t.Run(by.String(), func(t *testing.T) {
			onClusters(t, func(t *testing.T, r *rig) {
				links := []string{"c1-n1", "c1-n2", "c1-n3"}
				r.hold(t, "k1") // connects
				r.apply(t, Fault{Kind: Delay, Targets: links, Delay: by})
				began := r.cluster.Now()
				require.Equal(t, history.TypeOK, r.acquire(t, "c1", "k2", time.Second).Type)
				require.GreaterOrEqual(t, time.Duration(r.cluster.Now()-began), 2*by-2*time.Millisecond, "there and back")
				r.sleep(100 * time.Millisecond)
				r.apply(t, Fault{Kind: Heal, Targets: links})
				for _, end := range r.faults()[3:] {
					require.True(t, end.Effective)
					require.GreaterOrEqual(t, duration(t, end.Measured, "shortest"), by-delaySlack)
					require.Less(t, duration(t, end.Measured, "shortest"), by+20*time.Millisecond)
					require.GreaterOrEqual(t, number(t, end.Measured, "messages"), 2)
				}
			})
		})
	}
}

// Far nodes are a background delay; another adds to it.
func TestDelay_OverlappingDelaysAddUp(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		links := []string{"c1-n1", "c1-n2", "c1-n3"}
		latency := func(key string) time.Duration {
			defer r.sleep(300 * time.Millisecond)
			began := r.cluster.Now()
			require.Equal(t, history.TypeOK, r.acquire(t, "c1", key, time.Second).Type)
			return time.Duration(r.cluster.Now() - began)
		}
		near := latency("k0")
		background := r.apply(t, Fault{Kind: Delay, Targets: links, Delay: 10 * time.Millisecond, Background: true})
		far := latency("k1")
		require.Greater(t, far, near+18*time.Millisecond)
		more := r.apply(t, Fault{Kind: Delay, Targets: links, Delay: 20 * time.Millisecond, Direction: history.ToNode})
		require.InDelta(t, far+20*time.Millisecond, latency("k2"), float64(2*time.Millisecond))
		r.end(t, more)
		require.InDelta(t, far, latency("k3"), float64(2*time.Millisecond), "the setting is still there")
		r.end(t, background)
		for _, f := range r.faults() {
			require.True(t, f.Effective)
		}
		require.Less(t, latency("k4"), far)
	})
}

// One intercept's messages do not prove another's effect. LetGo ends all intercepts of a link at once, so the end of
// one must record the end of all.
func TestIntercept_CountsItsOwnMessages_EndsWithAllOnTheLink(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		affected := r.apply(t, Fault{Kind: Hold, Targets: []string{"c1-n1"}, Command: "SET", Part: history.PartCommand})
		r.apply(t, Fault{Kind: Lose, Targets: []string{"c1-n1"}, Command: "UNLINK", Part: history.PartReply})
		r.apply(t, Fault{Kind: Hold, Targets: []string{"c1-n2"}, Command: "GET", Part: history.PartReply})
		r.hold(t, "k1")
		r.end(t, affected)
		require.Empty(t, r.nemesis.activeOn("c1-n1", Hold, Lose, Drop))
		require.Len(t, r.nemesis.activeOn("c1-n2", Hold), 1, "another link keeps its own")
		messages, effective := map[int]string{}, map[int]bool{}
		for _, f := range r.faults()[3:] {
			messages[f.ID], effective[f.ID] = f.Measured["messages"], f.Effective
		}
		require.Equal(t, map[int]string{1: "1", 2: "0"}, messages)
		require.Equal(t, map[int]bool{1: true, 2: false}, effective)
	})
}

func TestFaults_CountAffectedMessages(t *testing.T) {
	for _, f := range []Fault{
		{Kind: Cut, Targets: []string{"c1-n1"}},
		{Kind: Cut, Targets: []string{"c1-n1"}, Direction: history.ToClient},
		{Kind: Delay, Targets: []string{"c1-n1"}, Delay: 5 * time.Millisecond},
		{Kind: Pause, Targets: []string{"n1"}},
		{Kind: Hold, Targets: []string{"c1-n1"}, Command: "SET", Part: history.PartReply},
		{Kind: Hold, Targets: []string{"c1-n1"}, Command: "SET", Part: history.PartCommand},
		{Kind: Lose, Targets: []string{"c1-n1"}, Command: "SET", Part: history.PartReply},
		{Kind: Drop, Targets: []string{"c1-n1"}, Command: "SET", Part: history.PartCommand},
	} {
		t.Run(fmt.Sprint(f.Kind, f.Direction, f.Part), func(t *testing.T) {
			onClusters(t, func(t *testing.T, r *rig) {
				r.hold(t, "k1") // connects
				begun := r.apply(t, f)
				r.sleep(20 * time.Millisecond)
				end := r.end(t, begun)
				require.Zero(t, *end.Affected, "nobody asked for anything")
				require.Empty(t, end.SentAt)
				from := r.cluster.Now()
				r.sleep(20 * time.Millisecond)
				r.apply(t, f)
				r.acquire(t, "c1", "k2", time.Second)
				r.sleep(200 * time.Millisecond) // n1 may be the one that the majority did not wait for
				r.apply(t, Fault{Kind: Find(f.Kind).EndedBy, Targets: f.Targets})
				end = r.last(t)
				require.Equal(t, history.PhaseEnd, end.Phase)
				require.True(t, end.Effective)
				require.Positive(t, *end.Affected)
				if f.Kind == Cut || f.Kind == Hold {
					require.NotEmpty(t, end.SentAt)
					require.LessOrEqual(t, from, end.SentAt[0])
					require.IsIncreasing(t, append(slices.Compact(end.SentAt), r.cluster.Now()))
				}
			})
		})
	}
}

// Messages in flight behave as in TCP, on every cluster. Data that an ended process has written arrives, followed by
// the end of its connection; data to an ended process is lost. A client acquires on two of three nodes over slow links,
// and one side ends while its messages are in flight.
func TestMessagesUnderWay_WhenOneSideEnds(t *testing.T) {
	const slow = 500 * time.Millisecond
	nodes, links := []string{"n1", "n2"}, []string{"c1-n1", "c1-n2"}
	toNodes := func(kind string) Fault { return Fault{Kind: kind, Targets: nodes} }
	toClient := func(kind string) Fault { return Fault{Kind: kind, Targets: []string{"c1"}} }
	cut := Fault{Kind: Cut, Targets: links, Direction: history.Both}
	const dead history.Type = "" // the client dies during the acquire
	for name, tc := range map[string]struct {
		slow   history.Direction
		end    []Fault
		want   history.Type // of the acquire
		leaves int          // keys on the nodes in the end
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

// awaitUnderWay waits until c1's SETs, or the nodes' replies to them, are sent.
func (r *rig) awaitUnderWay(t *testing.T, direction history.Direction, nodes ...string) {
	t.Helper()
	for _, n := range nodes {
		r.await(t, "something sets out to "+n, func() bool {
			sent, answered := r.cluster.Link("c1", n).Count("SET")
			return direction == history.ToNode && sent > 0 || direction == history.ToClient && answered > 0
		})
	}
}
