package reports

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/golden"
	"example.org/lockproof/reports/terminal"
)

func printed(t *testing.T, r *Report, screen terminal.Screen) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.Print(&b, screen))
	return b.String()
}

func TestGoldenFiles(t *testing.T) {
	report := fixture()
	for name, write := range map[string]func(io.Writer) error{
		"table.golden":        func(w io.Writer) error { return report.Print(w, terminal.Screen{Width: 80, Verbose: true}) },
		"table-brief.golden":  func(w io.Writer) error { return report.Print(w, terminal.Screen{Width: 80}) },
		"results.json.golden": report.WriteResults,
		"junit.xml.golden":    report.WriteJUnit,
		"summary.md.golden":   report.WriteSummary,
		"compare.golden": func(w io.Writer) error {
			_, err := io.WriteString(w, comparison().Text(terminal.Screen{Width: 80}))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			require.NoError(t, write(&b))
			golden.Require(t, "testdata/"+name, b.String())
		})
	}
}

func TestTables_FitTheScreen(t *testing.T) {
	for _, width := range []int{60, 72, 80, 120} {
		screen := terminal.Screen{Width: width, Colour: true}
		texts := []string{printed(t, fixture(), screen)}
		if width >= 72 {
			texts = append(texts, comparison().Text(screen))
		}
		for line := range strings.Lines(strings.Join(texts, "\n")) {
			require.LessOrEqual(t, terminal.Width(strings.TrimRight(line, "\n")), width, "%q", line)
		}
	}
}

func TestPrint_ColourOff_HasNoEscapes(t *testing.T) {
	require.NotContains(t, printed(t, fixture(), terminal.Screen{Width: 80}), "\x1b")
	coloured := printed(t, fixture(), terminal.Screen{Width: 80, Colour: true})
	require.Contains(t, coloured, "\x1b[")
	require.NotContains(t, coloured, "lost\x1b", "text of a history cannot colour the terminal")
}

func TestExitCode(t *testing.T) {
	expected := trial("a", "", 1, history.Holds, history.Holds)
	differs := trial("b", "", 1, history.Holds, history.Violated)
	undecided := trial("c", "", 1, history.Holds, history.Inconclusive)
	failed := suite.Result{Scenario: "d", Failure: "why"}
	skipped := suite.Result{Scenario: "e", Skipped: "why"}
	tests := []struct {
		name   string
		trials []suite.Result
		run    Run
		want   int
	}{
		{"as expected", []suite.Result{expected}, Run{}, 0},
		{"some skipped", []suite.Result{expected, skipped}, Run{}, 0},
		{"all skipped", []suite.Result{skipped}, Run{}, 4},
		{"nothing", nil, Run{}, 4},
		{"inconclusive", []suite.Result{expected, undecided}, Run{}, 4},
		{"failed outranks inconclusive", []suite.Result{expected, undecided, failed}, Run{}, 3},
		{"differs outranks failed", []suite.Result{failed, undecided, differs, expected}, Run{}, 1},
		{"interrupted", []suite.Result{expected}, Run{Interrupted: true}, 4},
		{"interrupted, and differs", []suite.Result{differs}, Run{Interrupted: true}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			report := New(tt.trials, tt.run)
			require.Equal(t, tt.want, report.ExitCode())
			junit := report.junit()
			require.Equal(t, tt.want != 0, junit.Failures+junit.Errors > 0, "a CI system that reads only junit.xml agrees")
			require.Len(t, junit.Suites[0].Cases, junit.Tests)
		})
	}
}

func TestSummary_InterruptedRun_SaysSo(t *testing.T) {
	r := New([]suite.Result{
		trial("a", "", 1, history.Holds, history.Holds), {Scenario: "b", Skipped: "why"},
	}, Run{Interrupted: true, Planned: 30})
	require.Contains(t, r.Summary(), "The run was interrupted: 28 of 30 trials were not run.")
}

func TestWriteFiles_Failure_KeepsOldFile(t *testing.T) {
	report := fixture()
	report.Options.Out = filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		paths, err := report.WriteFiles()
		require.NoError(t, err)
		require.Len(t, paths, 3)
	}
	entries, err := os.ReadDir(report.Options.Out)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Equal(t, []string{"junit.xml", "results.json", "summary.md"}, names, "no temporary file is left")

	_, err = report.WriteFiles(File{SummaryFile, func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Repeat("half of it ", 1000))
		return errors.Join(err, errors.New("no more"))
	}})
	require.ErrorContains(t, err, "no more")
	text, err := os.ReadFile(filepath.Join(report.Options.Out, SummaryFile))
	require.NoError(t, err)
	require.NotContains(t, string(text), "half of it")
	entries, err = os.ReadDir(report.Options.Out)
	require.NoError(t, err)
	require.Len(t, entries, 3)
}

func TestWriteFiles_NamesTheObstacle(t *testing.T) {
	report := fixture()
	report.Options.Out = filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(report.Options.Out, nil, 0o644))
	_, err := report.WriteFiles()
	require.ErrorContains(t, err, report.Options.Out)
}

// A run of a few named scenarios prints their violations; a run of many prints only unexpected results.
func TestPrint_NamedScenariosShowTheirViolation(t *testing.T) {
	shown := trial("half-is-not-majority", "without Majority", 0, history.Violated, history.Violated)
	shown.Results[0].Violations = []checker.Violation{overlap()}
	shown.History = "half.jsonl"
	run := Run{Named: true, Options: suite.Options{Out: "testdata"}}
	text := printed(t, New([]suite.Result{shown}, run), terminal.Screen{Width: 100})
	require.Contains(t, text, "mutual-exclusion: violated, as expected")
	const story = `c2 begins to acquire "k1"`
	require.Contains(t, text, story)

	run.Named = false
	require.NotContains(t, printed(t, New([]suite.Result{shown}, run), terminal.Screen{Width: 100}), story)
	run.Named = true
	many := []suite.Result{shown}
	for i := range maxShown {
		other := trial(fmt.Sprint("other", i), "", 0, history.Holds, history.Holds)
		many = append(many, other)
	}
	require.NotContains(t, printed(t, New(many, run), terminal.Screen{Width: 100}), story)
}
