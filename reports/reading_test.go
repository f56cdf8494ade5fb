package reports_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
	"example.org/lockproof/reports/html"
	"example.org/lockproof/reports/terminal"
	"example.org/lockproof/scenarios"
)

// Every file of a report tells of the same few trials: the history of each is read
// once for all of them.
func TestAReportReadsEachHistoryOnce(t *testing.T) {
	known, err := scenarios.Select([]string{"flushall", "half-is-not-majority"})
	require.NoError(t, err)
	o := suite.Options{Cluster: suite.Virtual, Trials: 2, Seed: 1, Out: t.TempDir()}
	jobs, err := o.Jobs(known)
	require.NoError(t, err)
	trials, err := suite.Run(context.Background(), jobs, o, func(suite.Result) {})
	require.NoError(t, err)
	for i := range trials {
		if trials[i].Scenario == "flushall" { // so that there is a row that is told for what went wrong
			trials[i].Expect = map[string]string{checker.MutualExclusion: history.Holds}
		}
	}
	report := reports.New(trials, reports.Run{Options: o, Named: true, Planned: len(trials)})
	read := reports.CountReadings(t)
	paths, err := report.WriteFiles(reports.File{Name: reports.PageFile,
		Write: func(w io.Writer) error { return html.Write(w, report, known) }})
	require.NoError(t, err)
	var names []string
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	require.Equal(t, []string{reports.ResultsFile, reports.JUnitFile, reports.SummaryFile, reports.PageFile}, names)
	var printed bytes.Buffer
	require.NoError(t, report.Print(&printed, terminal.Screen{Width: 100, UTF8: true}))

	require.Len(t, read, len(report.Rows), "one trial of each row is told")
	for path, times := range read {
		require.Equal(t, 1, times, path)
	}
	for _, name := range []string{reports.JUnitFile, reports.SummaryFile} {
		text, err := os.ReadFile(filepath.Join(o.Out, name))
		require.NoError(t, err)
		require.Contains(t, string(text), "█", name)
	}
	require.Contains(t, printed.String(), "DIFFERS: flushall")
	require.Contains(t, printed.String(), "violated, as expected")
	require.NotContains(t, printed.String(), "no drawing")
}
