package nemesis

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

func TestClock_Jump(t *testing.T) {
	for _, target := range []string{"n2", "c1"} {
		for _, jump := range []time.Duration{time.Second, -time.Second, time.Hour, 10 * time.Millisecond} {
			t.Run(target+" "+jump.String(), func(t *testing.T) {
				onClusters(t, func(t *testing.T, r *rig) {
					needClock(t, r, target)
					before := r.wall(t, target)
					r.apply(t, Fault{Kind: Clock, Targets: []string{target}, Jump: jump})
					f := r.last(t)
					require.Equal(t, history.PhaseInstant, f.Phase)
					require.Equal(t, jump.String(), f.Requested["jump"])
					require.True(t, f.Effective)
					require.InDelta(t, jump, duration(t, f.Measured, "jump"), float64(jumpSlack))
					require.InDelta(t, jump, r.wall(t, target)-before, float64(jumpSlack))
				})
			})
		}
	}
}

func TestClock_Rate(t *testing.T) {
	for _, target := range []string{"n2", "c1"} {
		for _, rate := range []float64{0.8, 1.005, 1.2} {
			t.Run(target+" "+formatRate(rate), func(t *testing.T) {
				onClusters(t, func(t *testing.T, r *rig) {
					needClock(t, r, target)
					r.apply(t, Fault{Kind: Clock, Targets: []string{target}, Rate: rate})
					f := r.last(t)
					require.Equal(t, formatRate(rate), f.Requested["rate"])
					require.True(t, f.Effective)
					measured, err := strconv.ParseFloat(f.Measured["rate"], 64)
					require.NoError(t, err)
					require.InDelta(t, rate, measured, 0.02)
					require.Equal(t, rate, r.clockEvent(t, target).Rate, "the history knows the rate")
					r.apply(t, Fault{Kind: Clock, Targets: []string{target}, Rate: 1})
					require.True(t, r.last(t).Effective)
					require.Equal(t, 1.0, r.clockEvent(t, target).Rate)
				})
			})
		}
	}
}

func TestRateMatches_Threshold(t *testing.T) {
	for _, c := range []struct {
		measured, asked, before float64
		want                    bool
	}{
		{1.2, 1.2, 1, true},
		{1.19, 1.2, 1, true},
		{1, 1.2, 1, false},
		{1.5, 1.2, 1, false},     // nearer to it, and far from it
		{1, 1.005, 1, false},     // nothing has changed
		{1.0049, 1.005, 1, true}, // a small change is one
		{1.01, 1, 1, true},       // none was asked for
		{0.8, 1, 0.8, false},
	} {
		require.Equal(t, c.want, rateMatches(c.measured, c.asked, c.before), "%+v", c)
	}
}

// needClock skips where a cluster cannot set that clock; every one can set a client's.
func needClock(t *testing.T, r *rig, target string) {
	t.Helper()
	if !r.nemesis.clientNames[target] {
		needShim(t, r, cluster.AbilityClock)
	}
}

// wall is how far a clock is ahead of the true one.
func (r *rig) wall(t *testing.T, target string) int64 {
	t.Helper()
	read, _, err := r.nemesis.clockAccess(target)
	require.NoError(t, err)
	reading, err := read(context.Background())
	require.NoError(t, err)
	return reading.Wall - reading.True
}

// clockEvent is the latest of a process's wall clock.
func (r *rig) clockEvent(t *testing.T, process string) (latest history.Clock) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Process == process && e.Type == history.TypeClock && e.Clock.Wall {
			latest = *e.Clock
		}
	}
	return latest
}

// A machine's clock can be set while its server is down; the server that comes
// back has it, and its start says so.
func TestClock_SetWhileNodeIsDown(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		needClock(t, r, "n2")
		r.apply(t, Fault{Kind: Kill, Targets: []string{"n2"}})
		r.apply(t, Fault{Kind: Clock, Targets: []string{"n2"}, Jump: time.Minute, Rate: 1.2})
		f := r.last(t)
		require.True(t, f.Effective)
		require.InDelta(t, time.Minute, duration(t, f.Measured, "jump"), float64(jumpSlack))
		require.Equal(t, 1.2, r.clockEvent(t, "n2").Rate)

		r.apply(t, Fault{Kind: Start, Targets: []string{"n2"}})
		f = r.last(t)
		require.True(t, f.Effective)
		require.InDelta(t, time.Minute, duration(t, f.Measured, "clock ahead"), float64(time.Second))
		r.apply(t, Fault{Kind: Clock, Targets: []string{"n2"}, Jump: -time.Minute, Rate: 1})
		require.True(t, r.last(t).Effective)
	})
}

// clockLosingNode is a node whose clock is right again after each start.
type clockLosingNode struct{ cluster.Node }

func (f clockLosingNode) Start(ctx context.Context) error {
	if err := f.SetClock(ctx, -time.Minute, 1); err != nil {
		return err
	}
	return f.Node.Start(ctx)
}

type clockLosingCluster struct{ cluster.Cluster }

func (f clockLosingCluster) Node(name string) cluster.Node {
	return clockLosingNode{f.Cluster.Node(name)}
}

func TestStart_ClockLost_NotEffective(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		r.nemesis = New(clockLosingCluster{r.cluster}, r.clients, []string{"c1", "c2"}, r.record)
		r.apply(t, Fault{Kind: Kill, Targets: []string{"n2"}})
		r.apply(t, Fault{Kind: Clock, Targets: []string{"n2"}, Jump: time.Minute})
		require.True(t, r.last(t).Effective)
		r.apply(t, Fault{Kind: Start, Targets: []string{"n2"}})
		require.False(t, r.last(t).Effective)
	})
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
