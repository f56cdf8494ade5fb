//go:build unix

package suite

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/scenarios"
)

// BenchmarkTrial is one trial of a scenario in virtual time, from the start of
// its cluster to its verdict, with the history in a file.
func BenchmarkTrial(b *testing.B) {
	for _, parallel := range []int{1, 2} {
		b.Run(map[int]string{1: "one-at-a-time", 2: "two-at-a-time"}[parallel], func(b *testing.B) {
			list, err := scenarios.Select([]string{"restart-without-persistence"})
			require.NoError(b, err)
			o := Options{Cluster: Virtual, Trials: b.N, Seed: 1, Out: b.TempDir(), Parallel: parallel}
			b.ReportAllocs()
			b.ResetTimer()
			before := cpuTime(b)
			trials, err := Run(context.Background(), []Job{{Scenario: list[0]}}, o, func(Result) {})
			b.StopTimer()
			spent := cpuTime(b) - before
			require.NoError(b, err)
			for _, t := range trials {
				standing, why := t.Outcome()
				require.Equal(b, AsExpected, standing, why)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "trials/s")
			// The same, whatever else the machine has to do.
			b.ReportMetric(float64(b.N)/spent.Seconds(), "trials/cpu-s")
		})
	}
}

// cpuTime is how long this process has been at work.
func cpuTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
