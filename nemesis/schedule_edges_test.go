package nemesis

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A schedule ends before its end, and hits a target again a millisecond after it is well.
func TestASchedulesEnds(t *testing.T) {
	at := func(every, lasts, until time.Duration) (times []time.Duration) {
		for _, p := range Schedule(1, []Random{{Fault: Fault{Kind: Pause}, Among: []string{"n1"}, Count: 1,
			EveryMin: every, EveryMax: every, ForMin: lasts, ForMax: lasts}}, until) {
			times = append(times, p.At)
		}
		return times
	}
	const ms = time.Millisecond
	require.Equal(t, []time.Duration{100 * ms, 200 * ms, 300 * ms}, at(100*ms, 10*ms, 400*ms))
	require.Equal(t, []time.Duration{100 * ms, 200 * ms, 300 * ms}, at(100*ms, 99*ms, 400*ms))
	require.Equal(t, []time.Duration{100 * ms, 300 * ms}, at(100*ms, 100*ms, 400*ms))
}

// Both ends of a time that is drawn may come.
func TestATimeIsDrawnWithItsEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	drawn := map[time.Duration]bool{}
	for range 100 {
		drawn[between(rng, time.Millisecond, time.Millisecond+1)] = true
	}
	require.Equal(t, map[time.Duration]bool{time.Millisecond: true, time.Millisecond + 1: true}, drawn)
	require.Equal(t, time.Second, between(rng, time.Second, time.Second))
	require.Equal(t, time.Millisecond, between(rng, 0, 0))
}

// A schedule keeps its times from when it is begun, sets a clock's rate right again, and tells the first fault that could not
// be done.
func TestAScheduleIsCarriedOutAsPlanned(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		r.sleep(10 * time.Second)
		began := r.cluster.Now()
		require.NoError(t, r.nemesis.Run(context.Background(), []Planned{
			{At: 100 * time.Millisecond, For: 2 * time.Second, Fault: Fault{Kind: Clock, Targets: []string{"c1"}, Rate: 0.5}},
			{At: 300 * time.Millisecond, For: time.Millisecond, Fault: Fault{Kind: Clock, Targets: []string{"c2"}, Jump: time.Second}},
		}))
		require.Equal(t, 1.0, r.clockEvent(t, "c1").Rate)
		require.Len(t, r.faults(), 3, "a rate, a jump, and the rate again")
		require.GreaterOrEqual(t, r.cluster.Now()-began, int64(2100*time.Millisecond))

		err := r.nemesis.Run(context.Background(), []Planned{
			{Fault: Fault{Kind: Flush, Targets: []string{"n8"}}},
			{At: time.Millisecond, Fault: Fault{Kind: Flush, Targets: []string{"n9"}}},
			{At: 2 * time.Millisecond, Fault: Fault{Kind: Flush, Targets: []string{"n1"}}},
		})
		require.ErrorContains(t, err, "n8")
	})
}
