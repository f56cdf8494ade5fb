package validate

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockproof/harness/suite"
	"lockproof/redlock"
	"lockproof/scenarios"
	"lockproof/validate/settings"
)

// BenchmarkFrontier draws the frontier of ten thousand trials that the command
// draws by default. trials/s is the figure to look at.
func BenchmarkFrontier(b *testing.B) {
	r, err := settings.Disk.ReadRedis("", nil)
	if err != nil {
		b.Fatal(err)
	}
	trials := 0
	for b.Loop() {
		a := &Asker{Question: Question{Redis: r, Policy: settings.Delayed(0, ""),
			TTLs: []time.Duration{30 * time.Second}, On: suite.Virtual, Seed: 1, Drift: redlock.DefaultDrift},
			Suite: suite.Run}
		f, err := a.Measure(context.Background(), fewest)
		if err != nil || f.SafeSide > 0 || f.Inconclusive > 0 {
			b.Fatal(err, f.SafeSide, f.Inconclusive)
		}
		trials += f.Trials
	}
	b.ReportMetric(float64(trials)/b.Elapsed().Seconds(), "trials/s")
}

// BenchmarkFailover is a trial of a master that dies and whose replica takes over, its history
// judged, in virtual time.
func BenchmarkFailover(b *testing.B) {
	s, err := scenarios.Select([]string{"failover-lock"})
	require.NoError(b, err)
	o := suite.Options{Cluster: suite.Virtual, Trials: b.N, Seed: 1}
	b.ResetTimer()
	results, err := suite.Run(context.Background(), []suite.Job{{Scenario: s[0]}}, o, func(suite.Result) {})
	require.NoError(b, err)
	for _, r := range results {
		standing, why := r.Standing()
		require.Equal(b, suite.AsExpected, standing, why)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Hours(), "failovers/h")
}
