package nemesis

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// shows gives what a clock shows, one after the other, and counts how often it was read.
func shows(all ...Reading) (read readClock, count *int) {
	count = new(int)
	return func(context.Context) (Reading, error) {
		*count++
		return all[*count-1], nil
	}, count
}

// A rate is measured until the readings tell it well enough, or for a second; from a better reading on, if one comes.
func TestMeasureRate_SlowReadings_WatchesLonger(t *testing.T) {
	const second = int64(time.Second)
	for _, c := range []struct {
		name       string
		from       Reading
		difference float64
		reads      []Reading
		want       int
		rate       float64
	}{
		{"well enough at once", Reading{Uncertainty: 100}, 1, []Reading{{True: 20_000, Wall: 40_000, Uncertainty: 100}}, 1, 2},
		{"not quite", Reading{Uncertainty: 100}, 1, []Reading{{True: 20_000, Wall: 40_000, Uncertainty: 101},
			{True: 40_000, Wall: 40_000, Uncertainty: 100}}, 2, 1},
		{"half of a small difference", Reading{Uncertainty: 50}, 0.01, []Reading{{True: 20_000, Wall: 40_000, Uncertainty: 50}}, 1, 2},
		{"more than half of it", Reading{Uncertainty: 50}, 0.0098, []Reading{{True: 20_000, Wall: 20_000, Uncertainty: 50},
			{True: 40_000, Wall: 80_000, Uncertainty: 50}}, 2, 2},
		{"for a second", Reading{Uncertainty: second}, 1, []Reading{{True: second - 1, Uncertainty: second},
			{True: second, Wall: 3 * second, Uncertainty: second}}, 2, 3},
		{"for a second since it began", Reading{True: second, Uncertainty: second}, 1, []Reading{{True: 2*second - 1, Uncertainty: second},
			{True: 2 * second, Wall: second, Uncertainty: second}}, 2, 1},
		{"a better beginning", Reading{Uncertainty: 1000}, 1, []Reading{{True: 20_000, Wall: 20_000, Uncertainty: 499},
			{True: 220_000, Wall: 420_000, Uncertainty: 499}}, 2, 2},
		{"no better beginning", Reading{Uncertainty: 1000}, 1, []Reading{{True: 20_000, Wall: 0, Uncertainty: 500},
			{True: 200_000, Wall: 200_000, Uncertainty: 500}}, 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			onVirtual(t, func(t *testing.T, r *rig) {
				read, count := shows(c.reads...)
				rate, err := r.nemesis.measureRate(context.Background(), read, c.from, c.difference)
				require.NoError(t, err)
				require.Equal(t, c.want, *count)
				require.InDelta(t, c.rate, rate, 1e-9)
			})
		})
	}
}

func TestRateDifference(t *testing.T) {
	require.Equal(t, rateSlack, rateDifference(1, 1))
	require.Equal(t, 0.5, rateDifference(1.5, 1))
	require.True(t, rateMatches(0.1, 0, 0), "as far off as may be")
	require.False(t, rateMatches(1.0625, 1.125, 1), "as near to what it was before")
}

// slowClock is a node whose clock takes its time to read.
type slowClock struct {
	cluster.Node
	take func(i int)
	read int
}

func (s *slowClock) Clock(ctx context.Context) (int64, error) {
	s.take(s.read)
	s.read++
	return int64(s.read), nil
}

// A node's clock is read three times, and the first of those that took the shortest counts.
func TestClockReading_UsesQuickestSample(t *testing.T) {
	for want, took := range map[int64][]time.Duration{1: {2, 2, 6}, 2: {4, 2, 6}, 3: {4, 6, 2}} {
		onVirtual(t, func(t *testing.T, r *rig) {
			node := &slowClock{take: func(i int) { r.sleep(took[i] * time.Millisecond) }}
			read, _ := r.nemesis.nodeClockAccess(node, "n1")
			best, err := read(context.Background())
			require.NoError(t, err)
			require.Equal(t, want, best.Wall)
			require.Equal(t, int64(time.Millisecond), best.Uncertainty, "half of what it took")
		})
	}
}

// sloppyCluster has a node that sets its clock by so much more than it is asked to, and flushes nothing.
type sloppyCluster struct {
	cluster.Cluster
	by time.Duration
}

type sloppy struct {
	cluster.Node
	by time.Duration
}

func (c sloppyCluster) Node(name string) cluster.Node { return sloppy{c.Cluster.Node(name), c.by} }
func (s sloppy) SetClock(ctx context.Context, jump time.Duration, rate float64) error {
	return s.Node.SetClock(ctx, jump+s.by, rate)
}
func (s sloppy) Flush(context.Context) error { return nil }

// withSloppy has the nemesis at work on such nodes, some time after the beginning.
func withSloppy(t *testing.T, by time.Duration, test func(t *testing.T, r *rig)) {
	onVirtual(t, func(t *testing.T, r *rig) {
		r.sleep(10 * time.Second)
		r.nemesis = New(sloppyCluster{r.cluster, by}, r.clients, []string{"c1", "c2"}, r.record)
		test(t, r)
	})
}

func TestClock_JumpTolerance5ms(t *testing.T) {
	for by, effective := range map[time.Duration]bool{jumpSlack: true, -jumpSlack: true, jumpSlack + 1: false, -jumpSlack - 1: false} {
		withSloppy(t, by, func(t *testing.T, r *rig) {
			r.apply(t, Fault{Kind: Clock, Targets: []string{"n2"}, Jump: time.Second})
			require.Equal(t, effective, r.last(t).Effective, by)
		})
		onVirtual(t, func(t *testing.T, r *rig) { // and what a node's clock shows after its start
			r.sleep(10 * time.Second)
			r.apply(t, Fault{Kind: Kill, Targets: []string{"n2"}})
			r.apply(t, Fault{Kind: Clock, Targets: []string{"n2"}, Jump: time.Minute})
			require.NoError(t, r.cluster.Node("n2").SetClock(context.Background(), by, 1))
			r.apply(t, Fault{Kind: Start, Targets: []string{"n2"}})
			require.Equal(t, effective, r.last(t).Effective, by)
			require.Equal(t, time.Minute+by, duration(t, r.last(t).Measured, "clock ahead"))
		})
	}
}

func TestFlush_KeysRemain_NotEffective(t *testing.T) {
	withSloppy(t, 0, func(t *testing.T, r *rig) {
		require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k1", time.Second).Type)
		require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k2", time.Second).Type)
		r.sleep(100 * time.Millisecond)
		r.apply(t, Fault{Kind: Flush, Targets: []string{"n2"}})
		f := r.last(t)
		require.False(t, f.Effective)
		require.Equal(t, map[string]string{"keys before": "2", "keys left": "2"}, f.Measured)
		require.Zero(t, *f.Affected)
	})
	onVirtual(t, func(t *testing.T, r *rig) {
		require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k1", time.Second).Type)
		r.sleep(100 * time.Millisecond)
		r.apply(t, Fault{Kind: Flush, Targets: []string{"n2"}})
		require.Equal(t, 1, *r.last(t).Affected)
	})
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

// A client stands still that has said nothing since it was paused; what it said at that moment was on its way.
func TestPauseClient_SilentClientIsStopped(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		s, err := r.nemesis.pauseControl("c1")
		require.NoError(t, err)
		r.clients.said["c1"] = 100
		for since, still := range map[int64]bool{99: false, 100: true, 101: true} {
			is, err := s.isStopped(context.Background(), since)
			require.NoError(t, err)
			require.Equal(t, still, is, since)
		}
	})
}

// ways is a link of which it is known what passed it, by direction.
type ways struct {
	cluster.Link
	passed map[cluster.Direction]cluster.Traffic
}

func (w ways) Measure(d cluster.Direction) func() cluster.Traffic {
	return func() cluster.Traffic { return w.passed[d] }
}

// The quickest message of a link is that of either way, of ways that any passed.
func TestMeasureTraffic_ShortestOfBothDirections(t *testing.T) {
	for _, c := range []struct {
		there, back cluster.Traffic
		shortest    time.Duration
	}{
		{cluster.Traffic{Messages: 1, SetOut: 2, Shortest: 3}, cluster.Traffic{Messages: 1, Shortest: 5}, 3},
		{cluster.Traffic{Messages: 1, Shortest: 5}, cluster.Traffic{Messages: 1, SetOut: 2, Shortest: 3}, 3},
		{cluster.Traffic{SetOut: 1, Shortest: 0}, cluster.Traffic{Messages: 2, SetOut: 1, Shortest: 3}, 3},
		{cluster.Traffic{Messages: 2, SetOut: 1, Shortest: 3}, cluster.Traffic{SetOut: 1, Shortest: 0}, 3},
	} {
		link := ways{passed: map[cluster.Direction]cluster.Traffic{cluster.ToNode: c.there, cluster.ToClient: c.back}}
		sum := measureTraffic(link, cluster.Both)()
		require.Equal(t, cluster.Traffic{Messages: 2, SetOut: 2, Shortest: c.shortest}, sum)
	}
}
