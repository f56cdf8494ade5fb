package nemesis

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/harness/history"
)

// randoms draws one to four random faults over a few targets.
func randoms(t *rapid.T) []Random {
	var all []Random
	span := func(name string) (least, most time.Duration) {
		least = time.Duration(rapid.IntRange(0, 400).Draw(t, name+" min")) * time.Millisecond
		return least, least + time.Duration(rapid.IntRange(0, 400).Draw(t, name+" width"))*time.Millisecond
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "randoms") {
		targets := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"n1", "n2", "n3", "n4", "n5"}), 1, 5, rapid.ID).Draw(t,
			"among")
		kind := rapid.SampledFrom([]string{Kill, Pause, Flush}).Draw(t, fmt.Sprint("kind", i))
		r := Random{Fault: Fault{Kind: kind, Targets: targets},
			Count: rapid.IntRange(1, len(targets)).Draw(t, "count")}
		r.IntervalMin, r.IntervalMax = span("every")
		r.DurationMin, r.DurationMax = span("for")
		all = append(all, r)
	}
	return all
}

func TestSchedule_SameSeedSameFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, faults := rapid.Uint64().Draw(t, "seed"), randoms(t)
		const until = 5 * time.Second
		plan := Schedule(seed, faults, until)
		require.Equal(t, plan, Schedule(seed, faults, until), "one seed, one schedule")

		free := map[string]time.Duration{}
		var before time.Duration
		for _, p := range plan {
			require.GreaterOrEqual(t, p.Start, before, "in the order of time")
			require.Positive(t, p.Start)
			require.Less(t, p.Start, until)
			require.Positive(t, p.Duration)
			require.NotEmpty(t, p.Fault.Targets)
			require.True(t, slices.ContainsFunc(faults, func(r Random) bool { return drawnFrom(p, r) }),
				"%+v is within nobody's bounds", p)
			for _, target := range p.Fault.Targets {
				require.Greater(t, p.Start, free[target]-1, "%s is hit while it is under a fault", target)
				free[target] = p.Start + p.Duration
			}
			before = p.Start
		}
	})
}

// drawnFrom reports whether a planned fault is within a Random's bounds.
func drawnFrom(p Planned, r Random) bool {
	return p.Fault.Kind == r.Fault.Kind && len(p.Fault.Targets) <= r.Count && p.Start >= r.IntervalMin &&
		p.Duration >= r.DurationMin && p.Duration <= max(r.DurationMax, time.Millisecond) &&
		!slices.ContainsFunc(p.Fault.Targets, func(t string) bool { return !slices.Contains(r.Fault.Targets, t) }) &&
		len(slices.Compact(slices.Clone(p.Fault.Targets))) == len(p.Fault.Targets)
}

func TestSchedule_KeepsItsIntervals(t *testing.T) {
	flushes := []Random{{Fault: Fault{Kind: Flush, Targets: []string{"n1", "n2"}}, Count: 2,
		IntervalMin: 100 * time.Millisecond, IntervalMax: 200 * time.Millisecond}}
	plan := Schedule(1, flushes, time.Minute)
	require.InDelta(t, 400, len(plan), 30, "a minute at 150 ms each")
	for i, p := range plan[1:] {
		require.GreaterOrEqual(t, p.Start-plan[i].Start, 100*time.Millisecond)
		require.LessOrEqual(t, p.Start-plan[i].Start, 200*time.Millisecond)
	}
	require.NotEqual(t, plan, Schedule(2, flushes, time.Minute), "another seed, another schedule")
}

// busyWeek is a schedule with every lasting fault of nodes and links.
func busyWeek(long time.Duration) []Planned {
	every := func(f Fault, among ...string) Random {
		f.Targets = among
		return Random{Fault: f, Count: 1, IntervalMin: 60 * time.Millisecond,
			IntervalMax: 150 * time.Millisecond,
			DurationMin: 20 * time.Millisecond, DurationMax: 80 * time.Millisecond}
	}
	return Schedule(5, []Random{
		every(Fault{Kind: Kill}, "n1", "n2", "n3"),
		every(Fault{Kind: Pause}, "n1", "n2", "n3", "c2"),
		every(Fault{Kind: Cut, Direction: history.ToNode}, "c1-n1", "c1-n2"),
		every(Fault{Kind: Delay, Delay: 5 * time.Millisecond}, "c1-n1", "c1-n3"),
		every(Fault{Kind: Clock, Rate: 0.9}, "c1"),
	}, long)
}

func TestRun_EndsEveryFault(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		plan := busyWeek(1500 * time.Millisecond)
		r.clients.do(t, "c1", loop)
		require.NoError(t, r.nemesis.Run(ctx, plan))

		counts := map[string]int{}
		for _, f := range r.faults() {
			require.True(t, f.Effective, "%+v", f)
			counts[f.Kind+" "+string(f.Phase)]++
		}
		for _, kind := range []string{Pause, Cut, Delay} {
			require.Positive(t, counts[string(kind)+" begin"])
			require.Equal(t, counts[string(kind)+" begin"], counts[string(kind)+" end"])
		}
		require.Positive(t, counts["kill instant"])
		require.Equal(t, counts["kill instant"], counts["start instant"])
		require.Zero(t, counts["clock instant"]%2, "each rate was set right again")
		r.requireWell(t)
	})
}

// A cancelled run ends active faults at once.
func TestRun_CancelledContextEndsFaults(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(ctx)
		ended := make(chan error)
		go func() {
			ended <- r.nemesis.Run(ctx, []Planned{
				{Start: 10 * time.Millisecond, Duration: time.Hour, Fault: Fault{Kind: Kill, Targets: []string{"n1"}}},
				{Start: 20 * time.Millisecond, Duration: time.Hour, Fault: Fault{Kind: Pause, Targets: []string{"n2", "c1"}}},
				{Start: 30 * time.Millisecond, Duration: time.Hour, Fault: Fault{Kind: Cut, Targets: []string{"c1-n3"}}},
				{Start: time.Hour, Fault: Fault{Kind: Flush, Targets: []string{"n3"}}},
			})
		}()
		r.sleep(300 * time.Millisecond)
		require.Len(t, r.faults(), 4)
		cancel()
		require.NoError(t, <-ended)
		r.requireWell(t)
		require.Less(t, r.cluster.Now(), int64(5*time.Second))
	})
}

// A schedule counts from its own start, restores a clock's rate, and returns the first failed fault.
func TestRun_AppliesFaultsOnTime(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		r.sleep(10 * time.Second)
		began := r.cluster.Now()
		require.NoError(t, r.nemesis.Run(ctx, []Planned{
			{Start: 100 * time.Millisecond, Duration: 2 * time.Second, Fault: Fault{Kind: Clock, Targets: []string{"c1"},
				Rate: 0.5}},
			{Start: 300 * time.Millisecond, Duration: time.Millisecond, Fault: Fault{Kind: Clock, Targets: []string{"c2"},
				Jump: time.Second}},
		}))
		require.Equal(t, 1.0, r.clients.clock("c1").Rate)
		require.Len(t, r.faults(), 3, "a rate, a jump, and the rate again")
		require.GreaterOrEqual(t, r.cluster.Now()-began, int64(2100*time.Millisecond))

		err := r.nemesis.Run(ctx, []Planned{
			{Fault: Fault{Kind: Flush, Targets: []string{"n8"}}},
			{Start: time.Millisecond, Fault: Fault{Kind: Flush, Targets: []string{"n9"}}},
			{Start: 2 * time.Millisecond, Fault: Fault{Kind: Flush, Targets: []string{"n1"}}},
		})
		require.ErrorContains(t, err, "n8")
	})
}

// At one instant, faults follow the plan's order, and ends precede begins: one seed gives one history.
func TestRun_SameInstant_FollowsThePlansOrder(t *testing.T) {
	const ms = time.Millisecond
	cut := func(start, lasts time.Duration, target string) Planned {
		return Planned{Start: start, Duration: lasts, Fault: Fault{Kind: Cut, Targets: []string{target}}}
	}
	tests := []struct {
		name string
		plan []Planned
		want []string
	}{
		{"one ends when another begins", []Planned{cut(10*ms, 10*ms, "c1-n1"), cut(20*ms, 10*ms, "c1-n2"),
			cut(30*ms, 10*ms, "c1-n3")},
			[]string{"begin c1-n1", "end c1-n1", "begin c1-n2", "end c1-n2", "begin c1-n3", "end c1-n3"}},
		{"all end at once", []Planned{cut(10*ms, 30*ms, "c1-n3"), cut(20*ms, 20*ms, "c1-n1"), cut(20*ms, 20*ms, "c1-n2")},
			[]string{"begin c1-n3", "begin c1-n1", "begin c1-n2", "end c1-n3", "end c1-n1", "end c1-n2"}},
		{"all are cut short", []Planned{cut(10*ms, time.Hour, "c1-n3"), cut(20*ms, time.Hour, "c1-n1"),
			cut(30*ms, time.Minute, "c1-n2")},
			[]string{"begin c1-n3", "begin c1-n1", "begin c1-n2", "end c1-n3", "end c1-n1", "end c1-n2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onVirtual(t, func(t *testing.T, r *rig) {
				ctx, cancel := context.WithCancel(ctx)
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
