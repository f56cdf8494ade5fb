package nemesis

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

func TestClock_JumpsAndRunsAsRequested(t *testing.T) {
	for _, target := range []string{"n2", "c1"} {
		for _, f := range []Fault{{Jump: time.Second}, {Jump: -time.Second}, {Jump: time.Hour}, {Jump: 10 * time.Millisecond},
			{Rate: 0.8}, {Rate: 1.005}, {Rate: 1.2}} {
			t.Run(fmt.Sprint(target, " ", f.Jump, " ", f.Rate), func(t *testing.T) {
				onClusters(t, func(t *testing.T, r *rig) {
					needClock(t, r, target)
					before := r.clockOffset(t, target)
					f.Kind, f.Targets = Clock, []string{target}
					r.apply(t, f)
					done := r.last(t)
					require.True(t, done.Effective)
					require.Equal(t, history.PhaseInstant, done.Phase)
					if f.Rate == 0 {
						require.Equal(t, f.Jump, time.Duration(done.Asked.Jump))
						require.InDelta(t, f.Jump, duration(t, done.Measured, "jump"), float64(jumpSlack))
						require.InDelta(t, f.Jump, r.clockOffset(t, target)-before, float64(jumpSlack))
						return
					}
					require.Equal(t, f.Rate, done.Asked.Rate)
					measured, err := strconv.ParseFloat(done.Measured["rate"], 64)
					require.NoError(t, err)
					require.InDelta(t, f.Rate, measured, 0.02)
					require.Equal(t, f.Rate, r.clients.clock(target).Rate, "the history knows the rate")
					r.apply(t, Fault{Kind: Clock, Targets: []string{target}, Rate: 1})
					require.True(t, r.last(t).Effective)
					require.Equal(t, 1.0, r.clients.clock(target).Rate)
				})
			})
		}
	}
}

// needClock skips a test if the cluster cannot set that clock; every cluster can set a client's.
func needClock(t *testing.T, r *rig, target string) {
	t.Helper()
	if !r.nemesis.clientNames[target] {
		needShim(t, r, cluster.AbilityClock)
	}
}

// clockOffset is how far a clock is ahead of the true clock.
func (r *rig) clockOffset(t *testing.T, target string) int64 {
	t.Helper()
	reading, err := r.nemesis.readClock(ctx, target)
	require.NoError(t, err)
	return reading.Wall - reading.True
}

// A machine's clock can be set while its server is down. The restarted server has it, and its start records it. A start
// that lost the clock is not effective.
func TestClock_SetWhileNodeIsDown(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		needClock(t, r, "n2")
		kill, start := Fault{Kind: Kill, Targets: []string{"n2"}}, Fault{Kind: Start, Targets: []string{"n2"}}
		r.apply(t, kill)
		r.apply(t, Fault{Kind: Clock, Targets: []string{"n2"}, Jump: time.Minute, Rate: 1.2})
		f := r.last(t)
		require.True(t, f.Effective)
		require.InDelta(t, time.Minute, duration(t, f.Measured, "jump"), float64(jumpSlack))
		require.Equal(t, 1.2, r.clients.clock("n2").Rate)

		r.apply(t, start)
		f = r.last(t)
		require.True(t, f.Effective)
		require.InDelta(t, time.Minute, duration(t, f.Measured, "clock ahead"), float64(time.Second))
		r.apply(t, Fault{Kind: Clock, Targets: []string{"n2"}, Jump: -time.Minute, Rate: 1})
		require.True(t, r.last(t).Effective)

		r.apply(t, kill)
		require.NoError(t, r.cluster.Node("n2").SetClock(ctx, 20*time.Millisecond, 0))
		r.apply(t, start)
		require.False(t, r.last(t).Effective)
	})
}

func TestRateMatches_RequestedAndNotThePreviousRate(t *testing.T) {
	for _, c := range []struct {
		measured, asked, before float64
		want                    bool
	}{
		{1.19, 1.2, 1, true},
		{1, 1.2, 1, false},
		{1.5, 1.2, 1, false},     // nearer to the requested rate, but too far
		{1, 1.005, 1, false},     // unchanged
		{1.0049, 1.005, 1, true}, // a small change
		{1.01, 1, 1, true},       // no change requested
		{0.8, 1, 0.8, false},
		{1.0625, 1.125, 1, false}, // as near to the previous rate
	} {
		require.Equal(t, c.want, rateMatches(c.measured, c.asked, c.before), "%+v", c)
	}
	require.Equal(t, rateSlack, rateDifference(1, 1))
	require.Equal(t, 0.5, rateDifference(1.5, 1))
}

// readings returns the readings in order, and counts the reads.
func readings(all ...Reading) (read func(context.Context) (Reading, error), count *int) {
	count = new(int)
	return func(context.Context) (Reading, error) {
		*count++
		return all[*count-1], nil
	}, count
}

// A rate is measured until the readings are accurate enough, or for a second. A better reading restarts it.
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
		{"well enough at once", Reading{Uncertainty: 100}, 1, []Reading{{True: 20_000, Wall: 40_000, Uncertainty: 100}}, 1,
			2},
		{"not quite", Reading{Uncertainty: 100}, 1, []Reading{{True: 20_000, Wall: 40_000, Uncertainty: 101},
			{True: 40_000, Wall: 40_000, Uncertainty: 100}}, 2, 1},
		{"half of a small difference", Reading{Uncertainty: 50}, 0.01,
			[]Reading{{True: 20_000, Wall: 40_000, Uncertainty: 50}}, 1, 2},
		{"more than half of it", Reading{Uncertainty: 50}, 0.0098, []Reading{{True: 20_000, Wall: 20_000, Uncertainty: 50},
			{True: 40_000, Wall: 80_000, Uncertainty: 50}}, 2, 2},
		{"for a second since it began", Reading{True: second, Uncertainty: second}, 1,
			[]Reading{{True: 2*second - 1, Uncertainty: second},
				{True: 2 * second, Wall: second, Uncertainty: second}}, 2, 1},
		{"a better beginning", Reading{Uncertainty: 1000}, 1, []Reading{{True: 20_000, Wall: 20_000, Uncertainty: 499},
			{True: 220_000, Wall: 420_000, Uncertainty: 499}}, 2, 2},
		{"no better beginning", Reading{Uncertainty: 1000}, 1, []Reading{{True: 20_000, Wall: 0, Uncertainty: 500},
			{True: 200_000, Wall: 200_000, Uncertainty: 500}}, 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			onVirtual(t, func(t *testing.T, r *rig) {
				read, count := readings(c.reads...)
				rate, err := r.nemesis.measureRate(ctx, read, c.from, c.difference)
				require.NoError(t, err)
				require.Equal(t, c.want, *count)
				require.InDelta(t, c.rate, rate, 1e-9)
			})
		})
	}
}

// slowClock is a node with slow reads of its clock.
type slowClock struct {
	cluster.Node
	take func(i int)
	read int
}

func (s *slowClock) Clock(context.Context) (int64, error) {
	s.take(s.read)
	s.read++
	return int64(s.read), nil
}

// A node's clock is read three times, and then while all reads were slow. The first of the fastest reads counts.
func TestClockReading_UsesQuickestSample(t *testing.T) {
	for want, took := range map[int64][]time.Duration{1: {2, 2, 6}, 2: {4, 2, 6}, 3: {4, 6, 2}, 4: {6, 8, 6, 2}} {
		onVirtual(t, func(t *testing.T, r *rig) {
			node := &slowClock{Node: r.cluster.Node("n1"), take: func(i int) { r.sleep(took[i] * time.Millisecond) }}
			best, err := r.nemesis.readNodeClock(ctx, node)
			require.NoError(t, err)
			require.Equal(t, want, best.Wall)
			require.Equal(t, int64(time.Millisecond), best.Uncertainty, "half of what it took")
		})
	}
}

func TestClockReading_EachSampleSlow_Ends(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		node := &slowClock{Node: r.cluster.Node("n1"), take: func(int) { r.sleep(20 * time.Millisecond) }}
		best, err := r.nemesis.readNodeClock(ctx, node)
		require.NoError(t, err)
		require.Equal(t, int64(10*time.Millisecond), best.Uncertainty)
		require.Equal(t, 5, node.read)
	})
}
