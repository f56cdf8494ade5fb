package reports

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports/terminal"
)

// Rows that fail alike are described once.
func TestPrint_FailuresOfOneCause_OneAccount(t *testing.T) {
	const full = "the history cannot be written: no space left on device"
	var b strings.Builder
	report := New([]suite.Result{{Scenario: "a", Failure: full}, {Scenario: "b", Failure: full}}, Run{})
	require.NoError(t, report.Print(&b, terminal.Screen{Width: 100}))
	require.Contains(t, b.String(), "FAILED: a\n  Trial")
	require.Contains(t, b.String(), "FAILED: b: of the same kind as a: "+full+"\n")
}
