package checking

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

func TestCrowd_HasTheIntendedVerdict(t *testing.T) {
	for _, overlap := range []bool{false, true} {
		verdict, err := checker.Judge(Crowd(1000, overlap))
		require.NoError(t, err)
		result := verdict.Of(checker.MutualExclusion)
		require.EqualValues(t, 1000, result.Measured["leases"])
		if !overlap {
			require.Equal(t, history.Holds, result.Verdict)
			continue
		}
		require.Equal(t, history.Violated, result.Verdict)
		require.EqualValues(t, keys, result.Measured["violations"], "one for each key")
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range sizes {
		for _, overlap := range []bool{false, true} {
			want := expected(overlap)
			b.Run(fmt.Sprintf("%s/%d", want, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					verdict, err := checker.Judge(Crowd(n, overlap))
					require.NoError(b, err)
					require.Equal(b, want, verdict.Of(checker.MutualExclusion).Verdict)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/lease")
			})
		}
	}
}

func TestCrowdOnNodes_HasTheIntendedVerdict(t *testing.T) {
	verdict, err := checker.Judge(CrowdOnNodes(1000))
	require.NoError(t, err)
	require.Equal(t, history.Holds, verdict.Of(checker.MutualExclusion).Verdict)
	require.Empty(t, verdict.Traffic.Findings)
	require.Equal(t, 10_000, verdict.Traffic.Judged)
	require.Equal(t, 1000, verdict.Traffic.Believed)
}

func BenchmarkCheckOnNodes(b *testing.B) {
	for _, n := range sizes[:3] {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := checker.Judge(CrowdOnNodes(n))
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/lease")
		})
	}
}

func BenchmarkPorcupineInOnePiece(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				whole(n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/lease")
		})
	}
}
