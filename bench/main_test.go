package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/bench/figures"
)

func fake(name string, err error) suite {
	return suite{name, "measures " + name, func(_ context.Context, say func(string, ...any)) ([]figures.Section, error) {
		say("measuring %s", name)
		row := figures.Row{Name: "row of " + name, Figures: []figures.Figure{figures.Of("pairs", figures.PerSecond, 5)}}
		return []figures.Section{{Name: name, Title: "Section of " + name, Rows: []figures.Row{row}}}, err
	}}
}

func TestRun(t *testing.T) {
	all := []suite{fake("lock", nil), fake("checker", nil), fake("broken", errors.New("no server"))}
	for _, tc := range []struct {
		args    string
		code    int
		shows   []string
		message string
	}{
		{"--help", 0, []string{"checker    measures checker", "--out"}, ""},
		{"lock", 0, []string{"row of lock"}, "bench: measuring lock\n"},
		{"checker lock", 0, []string{"row of checker", "row of lock"}, "measuring checker"},
		{"lok", exitUsage, nil, `no suite named "lok": there are lock, checker, broken`},
		{"--fast", exitUsage, nil, "unknown flag: --fast"},
		{"", exitFailed, []string{"row of lock", "row of broken"}, "bench: broken: no server"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new")
			var stdout, stderr strings.Builder
			args := append(strings.Fields(tc.args), "--out", dir)
			require.Equal(t, tc.code, run(t.Context(), all, args, &stdout, &stderr))
			for _, text := range tc.shows {
				require.Contains(t, stdout.String(), text)
			}
			require.Contains(t, stderr.String(), tc.message)
			saved, err := os.ReadFile(filepath.Join(dir, "bench.txt"))
			if strings.Contains(stdout.String(), "Section") {
				require.NoError(t, err)
				require.Equal(t, stdout.String(), string(saved))
				require.FileExists(t, filepath.Join(dir, "bench.json"))
			} else {
				require.Error(t, err)
			}
		})
	}
}

func TestRun_Interrupted_Stops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	first := fake("first", context.Canceled)
	measure := first.measure
	first.measure = func(ctx context.Context, say func(string, ...any)) ([]figures.Section, error) {
		cancel()
		return measure(ctx, say)
	}
	var stdout, stderr strings.Builder
	require.Equal(t, exitFailed, run(ctx, []suite{first, fake("second", nil)}, []string{"--out", t.TempDir()}, &stdout,
		&stderr))
	require.Contains(t, stdout.String(), "row of first")
	require.NotContains(t, stdout.String(), "row of second")
}
