package figures

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestFormat(t *testing.T) {
	for _, tc := range []struct {
		unit  Unit
		value float64
		want  string
	}{
		{Count, 0, "0"},
		{Count, 37, "37"},
		{Count, 999, "999"},
		{Count, 12.5, "12.5"},
		{Count, 123456, "123 k"},
		{Count, 1e6, "1 M"},
		{Ratio, 2, "2.00 x"},
		{Ratio, 0.954, "0.95 x"},
		{PerSecond, 4104, "4.10 k/s"},
		{PerSecond, 312.4, "312 /s"},
		{Seconds, 0.00125, "1.25 ms"},
		{Seconds, 61, "61 s"},
		{Seconds, 4.2e-5, "42 µs"},
		{Seconds, 2.5e-10, "0.25 ns"},
		{Seconds, 0, "0 ns"},
		{Bytes, 3 << 20, "3 MiB"},
		{Bytes, 1500, "1.46 KiB"},
	} {
		require.Equal(t, tc.want, tc.unit.Format(tc.value), "%v %q", tc.value, tc.unit)
	}
}

func TestMedianLiesBetweenItsRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rounds := rapid.SliceOfN(rapid.Float64Range(-1e9, 1e9), 1, 9).Draw(t, "rounds")
		given := append([]float64(nil), rounds...)
		f := Of("f", Seconds, rounds...)
		require.Equal(t, given, f.Rounds, "rounds keep their order")
		var below, above int
		for _, r := range rounds {
			if r < f.Median {
				below++
			}
			if r > f.Median {
				above++
			}
		}
		require.True(t, f.Low <= f.Median && f.Median <= f.High)
		require.LessOrEqual(t, below, len(rounds)/2)
		require.LessOrEqual(t, above, len(rounds)/2)
	})
}

func TestRatiosAreTakenRoundByRound(t *testing.T) {
	f := Ratios("to raw", Of("pairs", PerSecond, 10, 40, 90), Of("pairs", PerSecond, 10, 20, 30))
	require.Equal(t, []float64{1, 2, 3}, f.Rounds)
	require.Equal(t, 2.0, f.Median)
}

func TestTargets(t *testing.T) {
	f := Of("to raw", Ratio, 0.94, 0.95, 0.96)
	require.True(t, AtLeast("", f, 0.95).Reached)
	require.False(t, AtLeast("", f, 0.951).Reached)
	require.True(t, AtMost("", f, 0.95).Reached)
	require.False(t, AtMost("", f, 0.949).Reached)
	require.Equal(t, "✗ pairs at 1 caller: 0.95 x, wanted at least 1.40 x", AtLeast("pairs at 1 caller", f, 1.4).String())
}

func TestUnknownFigurePanics(t *testing.T) {
	row := Row{Name: "ours", Figures: []Figure{Of("p50", Seconds, 1)}}
	require.Equal(t, 1.0, row.Figure("p50").Median)
	require.PanicsWithValue(t, "figures: row ours has no figure p99", func() { row.Figure("p99") })
}

func sample() Report {
	return Report{
		Machine: Machine{System: "linux/amd64", Cores: 2, Go: "go1.26.0"},
		Sections: []Section{{
			Name: "lock-1-caller", Title: "One caller",
			Notes: []string{"five local servers"},
			Rows: []Row{
				{"redlock", []Figure{Of("pairs", PerSecond, 2000, 3000, 3100, 3200, 5000), Of("orphans", Count, 0)}},
				{"raw", []Figure{Of("pairs", PerSecond, 3100), Of("p99", Seconds, 0.0012)}},
			},
			Targets: []Target{AtLeast("pairs, of raw", Of("", Ratio, 1), 0.95)},
		}},
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	require.NoError(t, sample().WriteTable(&b))
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	require.Equal(t, []string{
		"linux/amd64, 2 cores, go1.26.0",
		"",
		"One caller",
		"                 pairs  orphans      p99",
		"──────────────────────────────────────────",
		"redlock  3.10 k/s ±3 %        0",
		"raw           3.10 k/s           1.20 ms",
		"  five local servers",
		"  ✓ pairs, of raw: 1.00 x, wanted at least 0.95 x",
		"",
		"Medians of interleaved rounds; ± is half the distance between the quartiles.",
	}, lines)
}

func TestJSONKeepsEveryRound(t *testing.T) {
	var b strings.Builder
	require.NoError(t, sample().WriteJSON(&b))
	var back Report
	require.NoError(t, json.Unmarshal([]byte(b.String()), &back))
	require.Equal(t, sample(), back)
}

func TestThisMachine(t *testing.T) {
	m := ThisMachine()
	require.Positive(t, m.Cores)
	require.Contains(t, m.String(), m.Go)
}
