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

// altered is a cluster with replaced nodes and links.
type altered struct {
	cluster.Cluster
	node func(cluster.Node) cluster.Node
	link cluster.Link
}

func (a altered) Node(name string) cluster.Node {
	if a.node == nil {
		return a.Cluster.Node(name)
	}
	return a.node(a.Cluster.Node(name))
}

func (a altered) Link(client, node string) cluster.Link {
	if a.link == nil {
		return a.Cluster.Link(client, node)
	}
	return a.link
}

// scripted is a node without effects. Its observations are given in advance, in order; the last one repeats. It claims
// to be a real server.
type scripted struct {
	cluster.Node
	seen       []history.Node
	info       []map[string]string
	disk       []cluster.Disturbed
	networks   []int // -1: broken
	broken     error
	supervised bool
}

func next[T any](all *[]T) T {
	first := (*all)[0]
	if len(*all) > 1 {
		*all = (*all)[1:]
	}
	return first
}

func (s *scripted) Kill(context.Context) error                             { return nil }
func (s *scripted) Shutdown(context.Context) error                         { return nil }
func (s *scripted) PowerLoss(context.Context) (int64, error)               { return 1, nil }
func (s *scripted) Start(context.Context) error                            { return nil }
func (s *scripted) Pause(context.Context) error                            { return nil }
func (s *scripted) Resume(context.Context) error                           { return nil }
func (s *scripted) SetClock(context.Context, time.Duration, float64) error { return nil }
func (s *scripted) Flush(context.Context) error                            { return nil }
func (s *scripted) Look(context.Context) (history.Node, error)             { return next(&s.seen), nil }
func (s *scripted) Info(context.Context) (map[string]string, error)        { return next(&s.info), nil }
func (s *scripted) Fill(context.Context) error                             { return nil }
func (s *scripted) Drain(context.Context) error                            { return nil }
func (s *scripted) Rewrite(context.Context, time.Duration) error           { return nil }
func (s *scripted) Disconnect(context.Context) error                       { return nil }
func (s *scripted) Connect(context.Context) error                          { return nil }
func (s *scripted) AwaitRestart(context.Context) (bool, error)             { return s.supervised, nil }
func (s *scripted) Disturb(func(*cluster.DiskFaults)) (cluster.Disturbed, error) {
	return next(&s.disk), nil
}

func (s *scripted) Connected(context.Context) (int, string, error) {
	n := next(&s.networks)
	if n < 0 {
		return 0, "", s.broken
	}
	return n, "10.0.0.1", nil
}

// onScripted runs a test on a cluster of scripted nodes, some time after the run began.
func onScripted(t *testing.T, s *scripted, test func(r *rig)) {
	t.Helper()
	onVirtual(t, func(t *testing.T, r *rig) {
		r.sleep(10 * time.Second)
		r.use(altered{Cluster: r.cluster, node: func(n cluster.Node) cluster.Node { s.Node = n; return s }}, r.clients)
		test(r)
	})
}

// fault applies a fault to a scripted node and ends it, and returns its first and last events.
func (s *scripted) fault(t *testing.T, f Fault) (first, last *history.Fault, err error) {
	t.Helper()
	f.Targets = []string{"n1"}
	onScripted(t, s, func(r *rig) {
		var begun []*Active
		if begun, err = r.nemesis.Apply(ctx, f); err != nil {
			return
		}
		r.sleep(100 * time.Millisecond)
		for _, a := range begun {
			err = r.nemesis.End(ctx, a)
		}
		first, last = r.faults()[0], r.last(t)
	})
	return first, last, err
}

func TestNodeFault_NoEffect_NotEffective(t *testing.T) {
	for _, c := range []struct {
		fault       Fault
		first, last bool // effective
	}{
		{fault: Fault{Kind: Kill}}, // with its supervisor's start
		{fault: Fault{Kind: Shutdown}}, {fault: Fault{Kind: PowerLoss}}, {fault: Fault{Kind: Flush}},
		{fault: Fault{Kind: Pause}},
		{fault: Fault{Kind: Clock, Jump: time.Second}}, {fault: Fault{Kind: Clock, Jump: 6 * time.Millisecond}},
		{fault: Fault{Kind: Clock, Rate: 1.2}}, {fault: Fault{Kind: Clock, Rate: 1.005}},
		{fault: Fault{Kind: Clock, Jump: time.Second, Rate: 1}},
		{Fault{Kind: Rewrite, Duration: time.Second}, false, true},
		{Fault{Kind: FillDisk}, true, false}, {Fault{Kind: SlowFsync, Delay: time.Second}, true, false},
		{Fault{Kind: FailFsync}, true, false},
	} {
		s := &scripted{supervised: true, info: []map[string]string{{"aof_rewrite_in_progress": "0",
			"aof_last_write_status": "ok"}},
			seen: []history.Node{{Up: true, RunID: "always the same",
				Keys: map[string]history.KeyState{"k1": {Token: "mine", TTL: 1e9}}}},
			disk: []cluster.Disturbed{{Delayed: 3, Failed: 3, Full: 3}}}
		first, last, err := s.fault(t, c.fault)
		require.NoError(t, err)
		require.Equal(t, []bool{c.first, c.last}, []bool{first.Effective, last.Effective}, "%+v: %+v", c.fault, last)
		if last.Affected != nil {
			require.Zero(t, *last.Affected, c.fault.Kind)
		}
	}
}

// A node with the same run ID was never down.
func TestStart_SameRunID_NotEffective(t *testing.T) {
	up, down := history.Node{Up: true, RunID: "a"}, history.Node{}
	onScripted(t, &scripted{seen: []history.Node{up, down, down, up}}, func(r *rig) {
		r.apply(t, Fault{Kind: Kill, Targets: []string{"n1"}})
		require.True(t, r.last(t).Effective)
		r.apply(t, Fault{Kind: Start, Targets: []string{"n1"}})
		require.Equal(t, "up", r.last(t).Measured["state"])
		require.False(t, r.last(t).Effective)
	})
}

// memoryInfo is a part of INFO.
func memoryInfo(used, limit, evicted, refused int) map[string]string {
	return map[string]string{"used_memory": strconv.Itoa(used), "maxmemory": strconv.Itoa(limit),
		"evicted_keys":  strconv.Itoa(evicted),
		"errorstat_OOM": "count=" + strconv.Itoa(refused)}
}

// Memory is full at its limit, or if keys are evicted; below the limit it has room again. Counts begin with the fault.
func TestFill_Proof(t *testing.T) {
	for _, c := range []struct {
		after, drained map[string]string
		full, room     bool
	}{
		{memoryInfo(100, 100, 3, 2), memoryInfo(99, 100, 9, 9), true, true},
		{memoryInfo(99, 100, 3, 2), memoryInfo(100, 100, 9, 9), false, false},
		{memoryInfo(99, 100, 4, 2), memoryInfo(101, 100, 9, 9), true, false},
		{memoryInfo(100, 0, 4, 2), memoryInfo(1, 100, 9, 9), false, true},
	} {
		s := &scripted{seen: []history.Node{{Up: true}},
			info: []map[string]string{memoryInfo(10, 100, 3, 5), c.after, memoryInfo(100, 100, 7, 8), c.drained}}
		begun, ended, err := s.fault(t, Fault{Kind: Fill})
		require.NoError(t, err)
		require.Equal(t, []bool{c.full, c.room}, []bool{begun.Effective, ended.Effective}, c)
		evicted := number(t, c.after, "evicted_keys")
		require.Equal(t, evicted-3, number(t, begun.Measured, "evicted_keys"))
		require.Equal(t, 7-evicted, number(t, ended.Measured, "evicted_keys"))
		require.Equal(t, 6, number(t, ended.Measured, "refused writes"))
	}
}

// A disconnected node is in no network and does not answer. A connected node is in one, and is the same server.
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
		begun, ended, err := (&scripted{networks: []int{1, c.during, c.after}, seen: c.seen}).fault(t,
			Fault{Kind: Disconnect})
		require.NoError(t, err)
		require.Equal(t, []bool{c.off, c.on}, []bool{begun.Effective, ended.Effective}, c)
	}
	broken := errors.New("the network is gone")
	for _, networks := range [][]int{{-1}, {1, -1}, {1, 0, -1}} {
		_, _, err := (&scripted{networks: networks, broken: broken, seen: []history.Node{up, down, up}}).fault(t,
			Fault{Kind: Disconnect})
		require.ErrorIs(t, err, broken, networks)
	}
}

func TestSlowFsync_CountsFromTheBeginning(t *testing.T) {
	s := &scripted{disk: []cluster.Disturbed{{Delayed: 3}, {Delayed: 7}}}
	_, ended, err := s.fault(t, Fault{Kind: SlowFsync, Delay: time.Millisecond})
	require.NoError(t, err)
	require.Equal(t, "4", ended.Measured["fsyncs"])
	require.Equal(t, 4, *ended.Affected)
}

// A node that is down after a drawn fault is restarted, unless its supervisor has done so.
func TestRestartNodes_OnlyDownNodes(t *testing.T) {
	for up, started := range map[bool]int{true: 0, false: 1} {
		s := &scripted{seen: []history.Node{{Up: up, RunID: "a"}, {Up: up, RunID: "a"}, {Up: true, RunID: "b"}}}
		onScripted(t, s, func(r *rig) {
			killed := Fault{Kind: Kill, Targets: []string{"n1"}}
			require.NoError(t, r.nemesis.restartNodes(ctx, killed))
			require.Len(t, r.faults(), started)
			s.seen = []history.Node{{RunID: "b"}, {Up: true, RunID: "c"}} // it comes back meanwhile
			require.ErrorContains(t, r.nemesis.restartNodes(ctx, killed), "already up")
		})
	}
}

// idleClients ignore faults.
type idleClients struct{ ClientControl }

func (idleClients) Pause(string) error                   { return nil }
func (idleClients) Resume(string) error                  { return nil }
func (idleClients) Starve(context.Context, string) error { return nil }
func (idleClients) Feed(context.Context, string) (cluster.Late, error) {
	return cluster.Late{Timers: 1}, nil
}
func (c idleClients) SetClock(ctx context.Context, name string, _ time.Duration, _ float64) (Reading, error) {
	return c.ClientControl.SetClock(ctx, name, 0, 0)
}

func TestClientFault_NoEffect_NotEffective(t *testing.T) {
	for _, f := range []Fault{{Kind: Pause}, {Kind: Starve}, {Kind: Clock, Jump: time.Second}, {Kind: Clock, Rate: 0.8}} {
		onVirtual(t, func(t *testing.T, r *rig) {
			r.use(r.cluster, idleClients{r.clients})
			r.clients.do(t, "c1", loop)
			r.sleep(50 * time.Millisecond)
			f.Targets = []string{"c1"}
			begun := r.apply(t, f)
			r.sleep(200 * time.Millisecond)
			if len(begun) > 0 {
				r.end(t, begun)
			}
			require.False(t, r.last(t).Effective, f)
		})
	}
}

// scriptedLink is a link without effects. Its traffic is given in advance.
type scriptedLink struct {
	cluster.Link
	passed cluster.Traffic
}

func (scriptedLink) Cut(history.Direction) error                  { return nil }
func (scriptedLink) Heal(history.Direction) error                 { return nil }
func (scriptedLink) Delay(history.Direction, time.Duration) error { return nil }
func (l scriptedLink) Measure(history.Direction) func() cluster.Traffic {
	return func() cluster.Traffic { return l.passed }
}

// A cut is effective if no message passes, and a delay if no message is faster by more than a millisecond. Both count
// the affected messages.
func TestLinkFaults_Proof(t *testing.T) {
	const by = 5 * time.Millisecond
	for _, c := range []struct {
		fault     Fault
		passes    cluster.Traffic // towards the node
		effective bool
		affected  int
	}{
		{Fault{Kind: Cut}, cluster.Traffic{SetOut: 3}, true, 3},
		{Fault{Kind: Cut}, cluster.Traffic{SetOut: 3, Messages: 1}, false, 2},
		{Fault{Kind: Delay, Delay: by}, cluster.Traffic{SetOut: 3, Messages: 2, Shortest: by - delaySlack}, true, 3},
		{Fault{Kind: Delay, Delay: by}, cluster.Traffic{SetOut: 3, Messages: 2, Shortest: by - delaySlack - 1}, false, 3},
		{Fault{Kind: Delay, Delay: by}, cluster.Traffic{SetOut: 3}, true, 3},
	} {
		onVirtual(t, func(t *testing.T, r *rig) {
			link := scriptedLink{passed: c.passes}
			r.use(altered{Cluster: r.cluster, link: link}, r.clients)
			c.fault.Targets = []string{"c1-n1"}
			end := r.end(t, r.apply(t, c.fault))
			require.Equal(t, c.effective, end.Effective, c)
			require.Equal(t, c.affected, *end.Affected, c)
		})
	}
}
