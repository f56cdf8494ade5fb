package nemesis

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// scriptedServer is a node that stands for a real server: what INFO, its network and its disk say is told beforehand, one answer
// after the other, the last for good.
type scriptedServer struct {
	cluster.Node
	info     []map[string]string
	networks []int
	broken   error // what Connected says after the first time
	disk     []cluster.Disturbed
	seen     []history.Node
}

func next[T any](all *[]T) T {
	first := (*all)[0]
	if len(*all) > 1 {
		*all = (*all)[1:]
	}
	return first
}

func (s *scriptedServer) Info(context.Context) (map[string]string, error) { return next(&s.info), nil }
func (s *scriptedServer) Fill(context.Context) error                      { return nil }
func (s *scriptedServer) Drain(context.Context) error                     { return nil }
func (s *scriptedServer) Rewrite(context.Context, time.Duration) error    { return nil }
func (s *scriptedServer) Disconnect(context.Context) error                { return nil }
func (s *scriptedServer) Connect(context.Context) error                   { return nil }
func (s *scriptedServer) AwaitRestart(context.Context) (bool, error)      { return false, nil }

// Disturb gives what was disturbed when it is asked, and not told.
func (s *scriptedServer) Disturb(change func(*cluster.DiskFaults)) (cluster.Disturbed, error) {
	return next(&s.disk), nil
}
func (s *scriptedServer) Look(context.Context) (history.Node, error) { return next(&s.seen), nil }
func (s *scriptedServer) Connected(context.Context) (int, string, error) {
	n := next(&s.networks)
	if n < 0 {
		return 0, "", s.broken
	}
	return n, "10.0.0.1", nil
}

// scriptedServerCluster has such a server for each node.
type scriptedServerCluster struct {
	cluster.Cluster
	server *scriptedServer
}

func (c scriptedServerCluster) Node(string) cluster.Node { return c.server }

// fault does a fault to such a server, some time after the run began, and ends it: what its beginning and its end say.
func (s *scriptedServer) fault(t *testing.T, f Fault) (begun, ended *history.Fault, err error) {
	t.Helper()
	f.Targets = []string{"n1"}
	onVirtual(t, func(t *testing.T, r *rig) {
		r.sleep(10 * time.Second)
		s.Node = r.cluster.Node("n1")
		r.nemesis = New(scriptedServerCluster{r.cluster, s}, r.clients, []string{"c1", "c2"}, r.record)
		var all []*Active
		if all, err = r.nemesis.Apply(context.Background(), f); err != nil {
			return
		}
		begun = r.last(t)
		r.sleep(100 * time.Millisecond)
		err = r.nemesis.End(context.Background(), all[0])
		ended = r.last(t)
	})
	return begun, ended, err
}

// memoryInfo is what INFO says of a memory.
func memoryInfo(used, limit, evicted, refused int) map[string]string {
	return map[string]string{"used_memory": strconv.Itoa(used), "maxmemory": strconv.Itoa(limit), "evicted_keys": strconv.Itoa(evicted),
		"errorstat_OOM": "count=" + strconv.Itoa(refused)}
}

// A memory is full up to its limit, or where it evicts; it has room again below it. What is counted is counted since.
func TestFill_Proof(t *testing.T) {
	up := []history.Node{{Up: true}}
	for _, c := range []struct {
		after, drained map[string]string
		full, room     bool
	}{
		{memoryInfo(100, 100, 3, 2), memoryInfo(99, 100, 9, 9), true, true},
		{memoryInfo(99, 100, 3, 2), memoryInfo(100, 100, 9, 9), false, false},
		{memoryInfo(99, 100, 4, 2), memoryInfo(101, 100, 9, 9), true, false},
		{memoryInfo(100, 0, 4, 2), memoryInfo(1, 100, 9, 9), false, true},
	} {
		s := &scriptedServer{info: []map[string]string{memoryInfo(10, 100, 3, 5), c.after, memoryInfo(100, 100, 7, 8), c.drained}, seen: up}
		begun, ended, err := s.fault(t, Fault{Kind: Fill})
		require.NoError(t, err)
		require.Equal(t, c.full, begun.Effective, c)
		require.Equal(t, strconv.Itoa(infoCounter(c.after["evicted_keys"])-3), begun.Measured["evicted_keys"])
		require.Equal(t, c.room, ended.Effective, c)
		require.Equal(t, "6", ended.Measured["refused writes"])
		require.Equal(t, strconv.Itoa(7-infoCounter(c.after["evicted_keys"])), ended.Measured["evicted_keys"])
	}
}

// A node is disconnected that is in no network and does not answer, and connected that is in one and is the same server.
func TestDisconnect_Proof(t *testing.T) {
	up, down, other := history.Node{Up: true, RunID: "a"}, history.Node{RunID: "a"}, history.Node{Up: true, RunID: "b"}
	for _, c := range []struct {
		during, after int
		seen          []history.Node
		off, on       bool
	}{
		{0, 1, []history.Node{up, down, up}, true, true}, {1, 0, []history.Node{up, down, up}, false, false},
		{0, 2, []history.Node{up, up, other}, false, false}, {0, 1, []history.Node{up, down, down}, true, false},
	} {
		s := &scriptedServer{networks: []int{1, c.during, c.after}, seen: c.seen}
		begun, ended, err := s.fault(t, Fault{Kind: Disconnect})
		require.NoError(t, err)
		require.Equal(t, c.off, begun.Effective, c)
		require.Equal(t, c.on, ended.Effective, c)
	}
	broken := errors.New("the network is gone")
	for failing := range 3 {
		networks := []int{1, 0, 1}
		networks[failing] = -1
		_, _, err := (&scriptedServer{networks: networks, broken: broken, seen: []history.Node{up, down, up}}).fault(t, Fault{Kind: Disconnect})
		require.ErrorIs(t, err, broken, failing)
	}
}

// What is done to a disk is counted from when it began, and how long a rewrite takes.
func TestCounters_CountFromTheBeginning(t *testing.T) {
	s := &scriptedServer{disk: []cluster.Disturbed{{Delayed: 3}, {Delayed: 7}}}
	_, ended, err := s.fault(t, Fault{Kind: SlowFsync, Delay: time.Millisecond})
	require.NoError(t, err)
	require.Equal(t, "4", ended.Measured["fsyncs"])
	require.Equal(t, 4, *ended.Affected)

	s = &scriptedServer{info: []map[string]string{{"aof_rewrite_in_progress": "1"}}}
	begun, ended, err := s.fault(t, Fault{Kind: Rewrite, Duration: time.Second})
	require.NoError(t, err)
	require.True(t, begun.Effective)
	require.InDelta(t, 100*time.Millisecond, duration(t, ended.Measured, "lasted"), float64(10*time.Millisecond))
}

// A node that is down after a drawn fault is started again, unless its supervisor has done that.
func TestRestartNodes_OnlyDownNodes(t *testing.T) {
	for up, started := range map[bool]int{true: 0, false: 1} {
		onVirtual(t, func(t *testing.T, r *rig) {
			node := r.cluster.Node("n1")
			require.NoError(t, node.Kill(context.Background()))
			s := &scriptedServer{Node: node, seen: []history.Node{{Up: up, RunID: "a"}, {Up: up, RunID: "a"}, {Up: true, RunID: "b"}}}
			r.nemesis = New(scriptedServerCluster{r.cluster, s}, r.clients, []string{"c1", "c2"}, r.record)
			require.NoError(t, r.nemesis.restartNodes(context.Background(), Fault{Kind: Kill, Targets: []string{"n1"}}))
			require.Len(t, r.faults(), started)
			s.seen = []history.Node{{RunID: "b"}, {Up: true, RunID: "c"}} // it comes back meanwhile
			err := r.nemesis.restartNodes(context.Background(), Fault{Kind: Kill, Targets: []string{"n1"}})
			require.ErrorContains(t, err, "already up")
		})
	}
}

// scriptedLink is a link of which it is told beforehand what passes it.
type scriptedLink struct{ ways }

func (scriptedLink) Cut(cluster.Direction) error                  { return nil }
func (scriptedLink) Heal(cluster.Direction) error                 { return nil }
func (scriptedLink) Delay(cluster.Direction, time.Duration) error { return nil }

type linkedCluster struct {
	cluster.Cluster
	link scriptedLink
}

func (c linkedCluster) Link(string, string) cluster.Link { return c.link }

// A cut is one that nothing passes, and a delay one that no message takes less than, but for a millisecond. Each says to how many
// messages it was done.
func TestLinkFaults_Proof(t *testing.T) {
	const by = 5 * time.Millisecond
	for _, c := range []struct {
		fault     Fault
		passes    cluster.Traffic // towards the node
		effective bool
		met       int
	}{
		{Fault{Kind: Cut}, cluster.Traffic{SetOut: 3}, true, 3},
		{Fault{Kind: Cut}, cluster.Traffic{SetOut: 3, Messages: 1}, false, 2},
		{Fault{Kind: Delay, Delay: by}, cluster.Traffic{SetOut: 3, Messages: 2, Shortest: by - delaySlack}, true, 3},
		{Fault{Kind: Delay, Delay: by}, cluster.Traffic{SetOut: 3, Messages: 2, Shortest: by - delaySlack - 1}, false, 3},
		{Fault{Kind: Delay, Delay: by}, cluster.Traffic{SetOut: 3}, true, 3},
	} {
		onVirtual(t, func(t *testing.T, r *rig) {
			link := scriptedLink{ways{passed: map[cluster.Direction]cluster.Traffic{cluster.ToNode: c.passes}}}
			r.nemesis = New(linkedCluster{r.cluster, link}, r.clients, []string{"c1", "c2"}, r.record)
			c.fault.Targets = []string{"c1-n1"}
			begun := r.apply(t, c.fault)
			require.NoError(t, r.nemesis.End(context.Background(), begun[0]))
			require.Equal(t, c.effective, r.last(t).Effective, c)
			require.Equal(t, c.met, *r.last(t).Affected, c)
		})
	}
}
