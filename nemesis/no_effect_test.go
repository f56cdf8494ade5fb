package nemesis

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// ineffectiveCluster is a cluster whose nodes and links say that they obey and do nothing.
type ineffectiveCluster struct {
	cluster.Cluster
	keys map[string]history.KeyState
	down bool
}

func (l *ineffectiveCluster) Node(name string) cluster.Node {
	return &ineffectiveNode{l.Cluster.Node(name), l}
}
func (l *ineffectiveCluster) Link(client, node string) cluster.Link {
	return &ineffectiveLink{Link: l.Cluster.Link(client, node)}
}

type ineffectiveNode struct {
	cluster.Node
	cluster *ineffectiveCluster
}

func (n *ineffectiveNode) Kill(context.Context) error                             { return nil }
func (n *ineffectiveNode) Shutdown(context.Context) error                         { return nil }
func (n *ineffectiveNode) PowerLoss(context.Context) (int64, error)               { return 1, nil }
func (n *ineffectiveNode) Start(context.Context) error                            { n.cluster.down = false; return nil }
func (n *ineffectiveNode) Pause(context.Context) error                            { return nil }
func (n *ineffectiveNode) Resume(context.Context) error                           { return nil }
func (n *ineffectiveNode) SetClock(context.Context, time.Duration, float64) error { return nil }
func (n *ineffectiveNode) Flush(context.Context) error                            { return nil }

func (n *ineffectiveNode) Look(context.Context) (history.Node, error) {
	return history.Node{Up: !n.cluster.down, RunID: "always the same", Keys: n.cluster.keys}, nil
}

type ineffectiveLink struct{ cluster.Link }

func (l *ineffectiveLink) Cut(cluster.Direction) error                  { return nil }
func (l *ineffectiveLink) Heal(cluster.Direction) error                 { return nil }
func (l *ineffectiveLink) Delay(cluster.Direction, time.Duration) error { return nil }

func (l *ineffectiveLink) Intercept(cluster.Intercept) (func() cluster.Traffic, error) {
	return func() cluster.Traffic { return cluster.Traffic{} }, nil
}

// withoutEffect runs a test against a nemesis that whose cluster has no effect.
func withoutEffect(t *testing.T, test func(t *testing.T, r *rig, l *ineffectiveCluster)) {
	onVirtual(t, func(t *testing.T, r *rig) {
		l := &ineffectiveCluster{Cluster: r.cluster, keys: map[string]history.KeyState{"k1": {Token: "mine", TTL: int64(time.Second)}}}
		r.nemesis = New(l, r.clients, []string{"c1", "c2"}, r.record)
		test(t, r, l)
	})
}

func TestInstantFault_NoEffect_NotEffective(t *testing.T) {
	for _, f := range []Fault{
		{Kind: Kill}, {Kind: Shutdown}, {Kind: PowerLoss}, {Kind: Flush},
		{Kind: Clock, Jump: time.Second}, {Kind: Clock, Jump: 6 * time.Millisecond},
		{Kind: Clock, Rate: 1.2}, {Kind: Clock, Rate: 1.005}, {Kind: Clock, Jump: time.Second, Rate: 1},
	} {
		t.Run(string(f.Kind)+" "+f.Jump.String()+" "+formatRate(f.Rate), func(t *testing.T) {
			withoutEffect(t, func(t *testing.T, r *rig, _ *ineffectiveCluster) {
				f.Targets = []string{"n1"}
				r.apply(t, f)
				require.False(t, r.last(t).Effective, "%+v", r.last(t))
			})
		})
	}
}

// A node that was down and shows the run id of before was never down.
func TestStart_SameRunID_NotEffective(t *testing.T) {
	withoutEffect(t, func(t *testing.T, r *rig, l *ineffectiveCluster) {
		r.apply(t, Fault{Kind: Kill, Targets: []string{"n1"}})
		l.down = true
		r.apply(t, Fault{Kind: Start, Targets: []string{"n1"}})
		require.Equal(t, "up", r.last(t).Measured["state"])
		require.False(t, r.last(t).Effective)
	})
}

func TestLastingFault_NoEffect_NotEffective(t *testing.T) {
	for _, f := range []Fault{
		{Kind: Cut}, {Kind: Cut, Direction: cluster.ToClient}, {Kind: Delay, Delay: 20 * time.Millisecond},
		{Kind: Hold, Command: "SET", Part: cluster.PartReply}, {Kind: Lose, Command: "SET", Part: cluster.PartCommand},
		{Kind: Drop, Command: "SET", Part: cluster.PartCommand},
	} {
		t.Run(string(f.Kind)+" "+string(f.Direction), func(t *testing.T) {
			withoutEffect(t, func(t *testing.T, r *rig, _ *ineffectiveCluster) {
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

func TestPause_NodeStillAnswers_NotEffective(t *testing.T) {
	withoutEffect(t, func(t *testing.T, r *rig, _ *ineffectiveCluster) {
		begun := r.apply(t, Fault{Kind: Pause, Targets: []string{"n1"}})
		require.False(t, r.last(t).Effective)
		require.Equal(t, "running", r.last(t).Measured["state"])
		require.NoError(t, r.nemesis.End(context.Background(), begun[0]))
		require.False(t, r.last(t).Effective)
	})
}

// unpausableClients are clients that cannot be paused.
type unpausableClients struct{ ClientControl }

func (unpausableClients) Pause(string) error  { return nil }
func (unpausableClients) Resume(string) error { return nil }

func TestPause_ClientStillReports_NotEffective(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		n := New(r.cluster, unpausableClients{r.clients}, []string{"c1", "c2"}, r.record)
		r.clients.do(t, "c1", loop)
		r.sleep(50 * time.Millisecond)
		begun, err := n.Apply(context.Background(), Fault{Kind: Pause, Targets: []string{"c1"}})
		require.NoError(t, err)
		r.sleep(200 * time.Millisecond)
		require.NoError(t, n.End(context.Background(), begun[0]))
		require.False(t, r.last(t).Effective)
	})
}

// clocklessClients are clients whose clocks cannot be set.
type clocklessClients struct{ ClientControl }

func (d clocklessClients) SetClock(ctx context.Context, name string, _ time.Duration, _ float64) (Reading, error) {
	return d.ClientControl.SetClock(ctx, name, 0, 0)
}

func TestClock_ClientDidNotJump_NotEffective(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		n := New(r.cluster, clocklessClients{r.clients}, []string{"c1", "c2"}, r.record)
		for _, f := range []Fault{{Jump: time.Second}, {Rate: 0.8}} {
			f.Kind, f.Targets = Clock, []string{"c1"}
			_, err := n.Apply(context.Background(), f)
			require.NoError(t, err)
			require.False(t, r.last(t).Effective)
		}
	})
}

// ineffectiveServer is a real server, as far as it says.
type ineffectiveServer struct {
	ineffectiveNode
	info map[string]string
}

func (s *ineffectiveServer) Info(context.Context) (map[string]string, error) { return s.info, nil }
func (s *ineffectiveServer) Fill(context.Context) error                      { return nil }
func (s *ineffectiveServer) Drain(context.Context) error                     { return nil }
func (s *ineffectiveServer) Rewrite(context.Context, time.Duration) error    { return nil }
func (s *ineffectiveServer) AwaitRestart(context.Context) (supervised bool, _ error) {
	return true, nil
}
func (s *ineffectiveServer) Disturb(func(*cluster.DiskFaults)) (cluster.Disturbed, error) {
	return cluster.Disturbed{Full: 3}, nil
}

func (s *ineffectiveServer) Disconnect(context.Context) error { return nil }
func (s *ineffectiveServer) Connect(context.Context) error    { return nil }
func (s *ineffectiveServer) Connected(context.Context) (int, string, error) {
	return 1, "172.20.0.2:6379", nil
}

// ineffectiveServers is a cluster of them.
type ineffectiveServers struct {
	*ineffectiveCluster
	info map[string]string
}

func (l ineffectiveServers) Node(name string) cluster.Node {
	return &ineffectiveServer{ineffectiveNode{l.Cluster.Node(name), l.ineffectiveCluster}, l.info}
}

func TestServerFault_NoEffect_NotEffective(t *testing.T) {
	info := map[string]string{"used_memory": "1000000", "maxmemory": "4000000", "evicted_keys": "7",
		"aof_rewrite_in_progress": "0", "aof_last_write_status": "ok"}
	for kind, phase := range map[Kind]history.Phase{
		Fill: history.PhaseBegin, Rewrite: history.PhaseBegin, FillDisk: history.PhaseEnd, Disconnect: history.PhaseBegin,
		Kill: history.PhaseInstant, // and its supervisor's start
	} {
		t.Run(string(kind), func(t *testing.T) {
			withoutEffect(t, func(t *testing.T, r *rig, l *ineffectiveCluster) {
				ctx := context.Background()
				r.nemesis = New(ineffectiveServers{l, info}, r.clients, []string{"c1", "c2"}, r.record)
				begun := r.apply(t, Fault{Kind: kind, Targets: []string{"n1"}, Duration: time.Second})
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

// Another tenant that goes on filling the memory has not gone.
func TestFill_StaysFull_EndNotEffective(t *testing.T) {
	withoutEffect(t, func(t *testing.T, r *rig, l *ineffectiveCluster) {
		info := map[string]string{"used_memory": "4000001", "maxmemory": "4000000"}
		r.nemesis = New(ineffectiveServers{l, info}, r.clients, []string{"c1", "c2"}, r.record)
		begun := r.apply(t, Fault{Kind: Fill, Targets: []string{"n1"}})
		require.True(t, r.last(t).Effective)
		require.NoError(t, r.nemesis.End(context.Background(), begun[0]))
		require.False(t, r.last(t).Effective)
	})
}
