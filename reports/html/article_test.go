package html

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
)

// A picture that cannot be written beside its history is no picture without a reason.
func TestAPictureThatCannotBeWrittenIsAnError(t *testing.T) {
	out := filepath.Join(t.TempDir(), "a-file")
	require.NoError(t, os.WriteFile(out, nil, 0o600))
	b := builder{report: &reports.Report{Run: reports.Run{Options: suite.Options{Out: out}}}}
	_, err := b.beside("trials/it/000/history.jsonl", reports.TimelineFile, []byte("<svg/>"))
	require.ErrorContains(t, err, "a-file")
}

// A limit of all locks of a class is yellow, and is no finding; what differs is red.
func TestALimitIsNoFinding(t *testing.T) {
	for standing, want := range map[suite.Outcome]string{suite.AsExpected: "good", suite.LimitOfClass: "doubt",
		suite.Inconclusive: "doubt", suite.Differs: "bad"} {
		require.Equal(t, want, (&article{Standing: standing}).Tone())
	}
	require.False(t, (&article{Standing: suite.LimitOfClass}).Finding())
	require.True(t, (&article{Standing: suite.Differs}).Finding())
}
