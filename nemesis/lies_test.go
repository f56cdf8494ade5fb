package nemesis

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockproof/harness/client"
	"lockproof/harness/cluster"
	"lockproof/harness/history"
)

// liar is a cluster whose nodes and links say that they obey, and do nothing.
type liar struct {
	cluster.Cluster
	keys map[string]history.KeyState
	down bool
}

func (l *liar) Node(name string) cluster.Node { return &lyingNode{l.Cluster.Node(name), l} }
func (l *liar) Link(client, node string) cluster.Link {
	return &lyingLink{Link: l.Cluster.Link(client, node)}
}

type lyingNode struct {
	cluster.Node
	liar *liar
}

func (n *lyingNode) Kill(context.Context) error                             { return nil }
func (n *lyingNode) Shutdown(context.Context) error                         { return nil }
func (n *lyingNode) PowerLoss(context.Context) (int64, error)               { return 1, nil }
func (n *lyingNode) Start(context.Context) error                            { n.liar.down = false; return nil }
func (n *lyingNode) Pause(context.Context) error                            { return nil }
func (n *lyingNode) Resume(context.Context) error                           { return nil }
func (n *lyingNode) SetClock(context.Context, time.Duration, float64) error { return nil }
func (n *lyingNode) Flush(context.Context) error                            { return nil }

func (n *lyingNode) Look(context.Context) (history.Node, error) {
	return history.Node{Up: !n.liar.down, RunID: "always the same", Keys: n.liar.keys}, nil
}

type lyingLink struct{ cluster.Link }

func (l *lyingLink) Cut(cluster.Direction) error                  { return nil }
func (l *lyingLink) Heal(cluster.Direction) error                 { return nil }
func (l *lyingLink) Delay(cluster.Direction, time.Duration) error { return nil }

func (l *lyingLink) Intercept(cluster.Intercept) (func() cluster.Met, error) {
	return func() cluster.Met { return cluster.Met{} }, nil
}

// lies runs a test against a nemesis that is lied to.
func lies(t *testing.T, test func(t *testing.T, r *rig, l *liar)) {
	onVirtual(t, func(t *testing.T, r *rig) {
		l := &liar{Cluster: r.cluster, keys: map[string]history.KeyState{"k1": {Token: "mine", TTL: int64(time.Second)}}}
		r.nemesis = New(l, r.clients, []string{"c1", "c2"}, r.record)
		test(t, r, l)
	})
}

func TestAnInstantFaultThatDidNotHappenIsNotEffective(t *testing.T) {
	for _, f := range []Fault{
		{Kind: Kill}, {Kind: Shutdown}, {Kind: PowerLoss}, {Kind: Flush},
		{Kind: Clock, Jump: time.Second}, {Kind: Clock, Jump: 6 * time.Millisecond},
		{Kind: Clock, Rate: 1.2}, {Kind: Clock, Rate: 1.005}, {Kind: Clock, Jump: time.Second, Rate: 1},
	} {
		t.Run(string(f.Kind)+" "+f.Jump.String()+" "+decimal(f.Rate), func(t *testing.T) {
			lies(t, func(t *testing.T, r *rig, _ *liar) {
				f.Targets = []string{"n1"}
				r.apply(t, f)
				require.False(t, r.last(t).Effective, "%+v", r.last(t))
			})
		})
	}
}

// A node that was down and shows the run id of before was never down.
func TestAStartWithTheSameRunIDIsNotEffective(t *testing.T) {
	lies(t, func(t *testing.T, r *rig, l *liar) {
		r.apply(t, Fault{Kind: Kill, Targets: []string{"n1"}})
		l.down = true
		r.apply(t, Fault{Kind: Start, Targets: []string{"n1"}})
		require.Equal(t, "up", r.last(t).Measured["state"])
		require.False(t, r.last(t).Effective)
	})
}

func TestALastingFaultThatDidNotHappenIsNotEffective(t *testing.T) {
	for _, f := range []Fault{
		{Kind: Cut}, {Kind: Cut, Direction: cluster.ToClient}, {Kind: Delay, By: 20 * time.Millisecond},
		{Kind: Hold, Command: "SET", Part: cluster.PartReply}, {Kind: Lose, Command: "SET", Part: cluster.PartCommand},
		{Kind: Drop, Command: "SET", Part: cluster.PartCommand},
	} {
		t.Run(string(f.Kind)+" "+string(f.Direction), func(t *testing.T) {
			lies(t, func(t *testing.T, r *rig, _ *liar) {
				require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k1", time.Second).Type)
				f.Targets = []string{"c1-n1"}
				begun := r.apply(t, f)
				require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k2", time.Second).Type)
				r.sleep(10 * time.Millisecond)
				require.NoError(t, r.nemesis.End(context.Background(), begun[0]))
				require.Equal(t, history.PhaseEnd, r.last(t).Phase)
				require.False(t, r.last(t).Effective, "%+v", r.last(t))
			})
		})
	}
}

func TestAPausedNodeThatGoesOnIsNotPaused(t *testing.T) {
	lies(t, func(t *testing.T, r *rig, _ *liar) {
		begun := r.apply(t, Fault{Kind: Pause, Targets: []string{"n1"}})
		require.False(t, r.last(t).Effective)
		require.Equal(t, "running", r.last(t).Measured["state"])
		require.NoError(t, r.nemesis.End(context.Background(), begun[0]))
		require.False(t, r.last(t).Effective)
	})
}

// restless are clients that cannot be paused.
type restless struct{ ClientControl }

func (restless) Pause(string) error  { return nil }
func (restless) Resume(string) error { return nil }

func TestAPausedClientThatGoesOnIsNotPaused(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		n := New(r.cluster, restless{r.clients}, []string{"c1", "c2"}, r.record)
		r.clients.do(t, "c1", loop)
		r.sleep(50 * time.Millisecond)
		begun, err := n.Apply(context.Background(), Fault{Kind: Pause, Targets: []string{"c1"}})
		require.NoError(t, err)
		r.sleep(200 * time.Millisecond)
		require.NoError(t, n.End(context.Background(), begun[0]))
		require.False(t, r.last(t).Effective)
	})
}

// deaf are clients whose clocks cannot be set.
type deaf struct{ ClientControl }

func (d deaf) SetClock(ctx context.Context, name string, _ client.SetClock) (Reading, error) {
	return d.ClientControl.SetClock(ctx, name, client.SetClock{})
}

func TestAClientsClockThatDidNotJumpIsNotEffective(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		n := New(r.cluster, deaf{r.clients}, []string{"c1", "c2"}, r.record)
		for _, f := range []Fault{{Jump: time.Second}, {Rate: 0.8}} {
			f.Kind, f.Targets = Clock, []string{"c1"}
			_, err := n.Apply(context.Background(), f)
			require.NoError(t, err)
			require.False(t, r.last(t).Effective)
		}
	})
}

// lyingServer is a real server, as far as it says.
type lyingServer struct {
	lyingNode
	info map[string]string
}

func (s *lyingServer) Info(context.Context) (map[string]string, error)         { return s.info, nil }
func (s *lyingServer) Fill(context.Context) error                              { return nil }
func (s *lyingServer) Drain(context.Context) error                             { return nil }
func (s *lyingServer) Rewrite(context.Context, time.Duration) error            { return nil }
func (s *lyingServer) AwaitRestart(context.Context) (supervised bool, _ error) { return true, nil }
func (s *lyingServer) SlowFsync(time.Duration) error                           { return nil }
func (s *lyingServer) FailFsync(bool) error                                    { return nil }
func (s *lyingServer) FillDisk(bool) error                                     { return nil }
func (s *lyingServer) Disturbed() (cluster.Disturbed, error)                   { return cluster.Disturbed{Full: 3}, nil }

func (s *lyingServer) Disconnect(context.Context) error { return nil }
func (s *lyingServer) Connect(context.Context) error    { return nil }
func (s *lyingServer) Connected(context.Context) (int, string, error) {
	return 1, "172.20.0.2:6379", nil
}

// lyingServers is a cluster of them.
type lyingServers struct {
	*liar
	info map[string]string
}

func (l lyingServers) Node(name string) cluster.Node {
	return &lyingServer{lyingNode{l.Cluster.Node(name), l.liar}, l.info}
}

func TestAServersFaultThatDidNotHappenIsNotEffective(t *testing.T) {
	info := map[string]string{"used_memory": "1000000", "maxmemory": "4000000", "evicted_keys": "7",
		"aof_rewrite_in_progress": "0", "aof_last_write_status": "ok"}
	for kind, phase := range map[Kind]history.Phase{
		Fill: history.PhaseBegin, Rewrite: history.PhaseBegin, FillDisk: history.PhaseEnd, Disconnect: history.PhaseBegin,
		Kill: history.PhaseInstant, // and its supervisor's start
	} {
		t.Run(string(kind), func(t *testing.T) {
			lies(t, func(t *testing.T, r *rig, l *liar) {
				ctx := context.Background()
				r.nemesis = New(lyingServers{l, info}, r.clients, []string{"c1", "c2"}, r.record)
				begun := r.apply(t, Fault{Kind: kind, Targets: []string{"n1"}, Lasts: time.Second})
				f := r.last(t)
				if phase == history.PhaseEnd {
					require.NoError(t, r.nemesis.End(ctx, begun[0]))
					f = r.last(t)
				}
				require.Equal(t, phase, f.Phase)
				require.False(t, f.Effective, "%+v", f)
			})
		})
	}
}

// A neighbour that goes on taking the room has not gone.
func TestAMemoryThatStaysFullIsNotDrained(t *testing.T) {
	lies(t, func(t *testing.T, r *rig, l *liar) {
		info := map[string]string{"used_memory": "4000001", "maxmemory": "4000000"}
		r.nemesis = New(lyingServers{l, info}, r.clients, []string{"c1", "c2"}, r.record)
		begun := r.apply(t, Fault{Kind: Fill, Targets: []string{"n1"}})
		require.True(t, r.last(t).Effective)
		require.NoError(t, r.nemesis.End(context.Background(), begun[0]))
		require.False(t, r.last(t).Effective)
	})
}
