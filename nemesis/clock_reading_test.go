package nemesis

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
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
