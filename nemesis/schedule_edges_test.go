package nemesis

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A schedule ends before its end, and hits a target again a millisecond after it is well.
func TestSchedule_EndsBeforeLimit(t *testing.T) {
	at := func(every, lasts, until time.Duration) (times []time.Duration) {
		for _, p := range Schedule(1, []Random{{Fault: Fault{Kind: Pause}, Candidates: []string{"n1"}, Count: 1,
			IntervalMin: every, IntervalMax: every, DurationMin: lasts, DurationMax: lasts}}, until) {
			times = append(times, p.Start)
		}
		return times
	}
	const ms = time.Millisecond
	require.Equal(t, []time.Duration{100 * ms, 200 * ms, 300 * ms}, at(100*ms, 10*ms, 400*ms))
	require.Equal(t, []time.Duration{100 * ms, 200 * ms, 300 * ms}, at(100*ms, 99*ms, 400*ms))
	require.Equal(t, []time.Duration{100 * ms, 300 * ms}, at(100*ms, 100*ms, 400*ms))
}

// Both ends of a time that is drawn may come.
func TestRandomDuration_IncludesBothBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	drawn := map[time.Duration]bool{}
	for range 100 {
		drawn[randomDuration(rng, time.Millisecond, time.Millisecond+1)] = true
	}
	require.Equal(t, map[time.Duration]bool{time.Millisecond: true, time.Millisecond + 1: true}, drawn)
	require.Equal(t, time.Second, randomDuration(rng, time.Second, time.Second))
	require.Equal(t, time.Millisecond, randomDuration(rng, 0, 0))
}

// A schedule keeps its times from when it is begun, sets a clock's rate right again, and tells the first fault that could not
// be done.
func TestRun_AppliesFaultsOnTime(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		r.sleep(10 * time.Second)
		began := r.cluster.Now()
		require.NoError(t, r.nemesis.Run(context.Background(), []Planned{
			{Start: 100 * time.Millisecond, Duration: 2 * time.Second, Fault: Fault{Kind: Clock, Targets: []string{"c1"}, Rate: 0.5}},
			{Start: 300 * time.Millisecond, Duration: time.Millisecond, Fault: Fault{Kind: Clock, Targets: []string{"c2"}, Jump: time.Second}},
		}))
		require.Equal(t, 1.0, r.clockEvent(t, "c1").Rate)
		require.Len(t, r.faults(), 3, "a rate, a jump, and the rate again")
		require.GreaterOrEqual(t, r.cluster.Now()-began, int64(2100*time.Millisecond))

		err := r.nemesis.Run(context.Background(), []Planned{
			{Fault: Fault{Kind: Flush, Targets: []string{"n8"}}},
			{Start: time.Millisecond, Fault: Fault{Kind: Flush, Targets: []string{"n9"}}},
			{Start: 2 * time.Millisecond, Fault: Fault{Kind: Flush, Targets: []string{"n1"}}},
		})
		require.ErrorContains(t, err, "n8")
	})
}

// What happens at one instant happens in the plan's order, and an end before a beginning:
// one seed gives one history.
func TestRun_OrdersWhatHappensAtOneInstant(t *testing.T) {
	const ms = time.Millisecond
	cut := func(start, lasts time.Duration, target string) Planned {
		return Planned{Start: start, Duration: lasts, Fault: Fault{Kind: Cut, Targets: []string{target}}}
	}
	tests := []struct {
		name string
		plan []Planned
		want []string
	}{
		{"one ends when another begins", []Planned{cut(10*ms, 10*ms, "c1-n1"), cut(20*ms, 10*ms, "c1-n2"), cut(30*ms, 10*ms, "c1-n3")},
			[]string{"begin c1-n1", "end c1-n1", "begin c1-n2", "end c1-n2", "begin c1-n3", "end c1-n3"}},
		{"all end at once", []Planned{cut(10*ms, 30*ms, "c1-n3"), cut(20*ms, 20*ms, "c1-n1"), cut(20*ms, 20*ms, "c1-n2")},
			[]string{"begin c1-n3", "begin c1-n1", "begin c1-n2", "end c1-n3", "end c1-n1", "end c1-n2"}},
		{"all are cut short", []Planned{cut(10*ms, time.Hour, "c1-n3"), cut(20*ms, time.Hour, "c1-n1"), cut(30*ms, time.Minute, "c1-n2")},
			[]string{"begin c1-n3", "begin c1-n1", "begin c1-n2", "end c1-n3", "end c1-n1", "end c1-n2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onVirtual(t, func(t *testing.T, r *rig) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				ended := make(chan error)
				go func() { ended <- r.nemesis.Run(ctx, tt.plan) }()
				r.sleep(100 * ms)
				cancel()
				require.NoError(t, <-ended)
				var got []string
				for _, f := range r.faults() {
					got = append(got, string(f.Phase)+" "+f.Targets[0])
				}
				require.Equal(t, tt.want, got)
			})
		})
	}
}
