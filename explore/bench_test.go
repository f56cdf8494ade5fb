package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/suite"
)

// BenchmarkSchedule is one schedule, from its drawing to its verdict, without the child
// that it runs in otherwise.
func BenchmarkSchedule(b *testing.B) {
	s := space(b, nil)
	b.ReportAllocs()
	jobs := make([]suite.Job, b.N)
	for i := range jobs {
		jobs[i] = s.job(s.Draw(uint64(i)))
	}
	o := suite.Options{Cluster: suite.Virtual, Trials: 1, Seed: 1, Parallel: 1, VerdictsOnly: true}
	results, err := suite.Run(b.Context(), jobs, o, func(suite.Result) {})
	require.NoError(b, err)
	for _, r := range results {
		require.Empty(b, r.Failure)
	}
}
