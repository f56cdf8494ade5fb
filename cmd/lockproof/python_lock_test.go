package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/cluster/local"
	"lockproof/harness/suite"
	"lockproof/internal/needs"
	"lockproof/reports"
)

// pythonAnswers are those to redis-py's Lock, believed from the return of acquire. Where a holder sleeps until
// its key expires, the answer is that of the machine: such a belief outlives the key by what the return took.
var pythonAnswers = map[string]suite.Answer{
	"holder-crashes": suite.Holds,
	"slow-acquire":   suite.Bug, "lost-reply": suite.Bug, "late-set": suite.Bug,
	"flushall":             suite.Limit,
	"fencing-counter-lost": suite.NotApplicable,
}

// The sixth of the locks of examples/locktest/answers is in another language. It runs in real time: of the catalogue, these
// situations are enough to see each answer.
func TestAPythonLock(t *testing.T) {
	needs.Check(t, needs.Redis, local.Available(""))
	needs.Check(t, needs.Python, exec.Command("/usr/bin/python3", "-c", "import redis").Run())
	binary, out := build(t), filepath.Join(t.TempDir(), "out")
	args := []string{"run", "--worker", "/usr/bin/python3 ../../tools/kits/python/redis_py.py", "--on", "local", "--out", out}
	for name := range pythonAnswers {
		args = append(args, name)
	}
	said, _ := exec.Command(binary, args...).CombinedOutput()
	require.Contains(t, strings.Join(strings.Fields(string(said)), " "),
		", one server, believed for a TTL from the return of Acquire (nothing else is declared): ")
	report, err := reports.Read(out)
	require.NoError(t, err, "%s", said)
	require.Len(t, report.Rows, len(pythonAnswers))
	for _, row := range report.Rows {
		answer, why := row.Answer()
		if answer == suite.Undecided && strings.Contains(why, "stalled: ") {
			t.Logf("%s: %s", row.Scenario, why) // a busy machine, and nothing of the lock's
			continue
		}
		require.Equal(t, pythonAnswers[row.Scenario], answer, "%s: %s", row.Scenario, why)
	}
}
