//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/local"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/needs"
	"example.org/lockproof/reports"
)

// pythonAnswers are those to redis-py's Lock, believed from the return of acquire. Where a holder sleeps until
// its key expires, the answer is that of the machine: such a belief outlives the key by what the return took.
var pythonAnswers = map[string]suite.Answer{
	"holder-crashes": suite.Holds,
	"slow-acquire":   suite.Bug, "lost-reply": suite.Bug, "late-set": suite.Bug,
	"flushall":             suite.Limit,
	"fencing-counter-lost": suite.NotApplicable,
}

// The sixth of the locks of examples/locktest/answers is in another language. It runs in real time: of the catalogue,
// these situations are enough to see each answer.
func TestAPythonLock(t *testing.T) {
	needs.Check(t, needs.Redis, local.Available(""))
	needs.Check(t, needs.Python, exec.Command("/usr/bin/python3", "-c", "import redis").Run())
	binary, out := build(t), filepath.Join(t.TempDir(), "out")
	args := []string{"run", "--worker", "/usr/bin/python3 ../../tools/kits/python/redis_py.py", "--on", "local", "--out",
		out}
	for name := range pythonAnswers {
		args = append(args, name)
	}
	said, _ := start(t, exec.Command(binary, args...)).end(t)
	require.Contains(t, strings.Join(strings.Fields(said), " "),
		", one server, believed for a TTL from the return of Acquire (nothing else is declared): ")
	report, err := reports.Read(out)
	require.NoError(t, err, said)
	require.Len(t, report.Rows, len(pythonAnswers))
	for _, row := range report.Rows {
		answer, why := row.First().Answer()
		if answer == suite.Undecided && strings.Contains(why, "stalled: ") {
			t.Logf("%s: %s", row.Scenario, why) // a busy machine, and nothing of the lock's
			continue
		}
		require.Equal(t, pythonAnswers[row.Scenario], answer, "%s: %s", row.Scenario, why)
	}
}

// A lock in another language is explored in real time, on real servers, and a find's file repeats what was found:
// not in each trial, for on a busy machine a fault may come too late to meet a message.
func TestAPythonLock_Explored(t *testing.T) {
	needs.Long(t, "a schedule takes seconds, and a find some twenty of them")
	needs.Check(t, needs.Redis, local.Available(""))
	needs.Check(t, needs.Python, exec.Command("/usr/bin/python3", "-c", "import redis").Run())
	dir := t.TempDir()
	for to, from := range map[string]string{"lockproof_worker.py": "../../tools/kits/python/lockproof_worker.py",
		"lock.py": "testdata/plain_delete.py"} {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, to), text, 0o644))
	}
	lockproof, worker := inFolder(t, dir), "/usr/bin/python3 lock.py"
	said, code := lockproof("explore", "--worker", worker, "--property", "mutual-exclusion", "--enough", "1",
		"--seed", "15", "--for", "5m", "--shrink", "20s")
	require.Equal(t, 1, code, said)
	found, err := filepath.Glob(filepath.Join(dir, "out/found/mutual-exclusion-of-plain-delete-*.yaml"))
	require.NoError(t, err)
	require.Len(t, found, 1, said)
	require.Contains(t, said, " --on local --worker '"+worker+"'\n")
	said, _ = lockproof("run", found[0], "--on", "local", "--worker", worker, "--out", "again", "--trials", "5")
	require.Contains(t, said, "✗ mutual-exclusion")
	said, code = lockproof("run", found[0])
	require.Equal(t, exitUsage, code, said)
	require.Contains(t, said, "plain-delete", "the file knows its lock")
}
