package html

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
)

// A picture that cannot be written beside its history is no picture without a reason.
func TestAPictureThatCannotBeWrittenIsAnError(t *testing.T) {
	report, catalogue := words{}.report(t)
	require.NoError(t, os.MkdirAll(filepath.Join(report.Options.Out, "trials/fine/000", reports.TimelineFile), 0o755))
	require.Regexp(t, "No picture: cannot write .*timeline.svg", written(t, report, catalogue))
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

// The page begins with what was found, each with its lock's name; all else is folded.
func TestFindingsComeFirst(t *testing.T) {
	report, catalogue := words{}.report(t)
	page := written(t, report, catalogue)
	require.Less(t, strings.Index(page, `id="findings"`), strings.Index(page, `id="verdicts"`))
	require.Contains(t, page, `>the-lock in the-scenario, the-variant</a></h3>`)
	require.Contains(t, page, `<details class="scenario" id="scenario-fine">`)
	require.NotContains(t, page, `id="scenario-the-scenario"`)
}

// A colour means one thing: green holds, red a bug, and yellow a limit or what is undecided.
func TestAColourMeansOneThing(t *testing.T) {
	for want, all := range map[string][]verdict{
		"good":  {{Got: history.Holds, Good: true}, {Got: history.Holds}},
		"bad":   {{Got: history.Violated}},
		"doubt": {{Got: history.Violated, Good: true}, {Got: history.Violated, Limit: true}, {Got: history.Inconclusive}},
	} {
		for _, v := range all {
			require.Equal(t, want, v.Tone(), "%+v", v)
		}
	}
}
