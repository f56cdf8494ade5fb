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

// pythonAnswers are the answers for redis-py's Lock, with a belief from the return of acquire. If a holder sleeps until
// its key expires, the answer depends on the machine: the belief outlives the key by the time of the return.
var pythonAnswers = map[string]suite.Answer{
	"holder-crashes": suite.Holds,
	"slow-acquire":   suite.Bug, "lost-reply": suite.Bug, "late-set": suite.Bug,
	"flushall":             suite.Limit,
	"fencing-counter-lost": suite.NotApplicable,
}

// The sixth lock of examples/locktest/answers is in another language. It runs in real time, so only with the scenarios
// that show each answer.
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
			t.Logf("%s: %s", row.Scenario, why) // due to a busy machine, not the lock
			continue
		}
		require.Equal(t, pythonAnswers[row.Scenario], answer, "%s: %s", row.Scenario, why)
	}
}

// The search runs in real time, on real servers, and a find's file repeats the find, but not in each trial: on a busy
// machine a fault may come too late to affect a message.
func TestAPythonLock_Explored(t *testing.T) {
	needs.Long(t, "a schedule takes seconds, and a find some twenty of them")
	needs.Check(t, needs.Redis, local.Available(""))
	needs.Check(t, needs.Python, exec.Command("/usr/bin/python3", "-c", "import redis").Run())
	dir := t.TempDir()
	for to, from := range map[string]string{"lockproof_worker.py": "../../tools/kits/python/lockproof_worker.py",
		"lock.py": "testdata/plain_delete.py"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, to), []byte(read(t, from)), 0o644))
	}
	lockproof, worker := inFolder(t, dir), "/usr/bin/python3 lock.py"
	said, code := lockproof("explore", "--worker", worker, "--property", "mutual-exclusion", "--enough", "1",
		"--seed", "15", "--for", "5m", "--shrink", "20s")
	require.Equal(t, 1, code, said)
	found, err := filepath.Glob(filepath.Join(dir, "out/found/mutual-exclusion-of-plain-delete-*.yaml"))
	require.NoError(t, err)
	require.Len(t, found, 1, said)
	require.Contains(t, said, " --on local --worker '"+worker+"'")
	require.Regexp(t, `reproduce: lockproof run out/found/\S+ .*--seed \d+`, said)
	said, _ = lockproof("run", found[0], "--on", "local", "--worker", worker, "--out", "again", "--trials", "5")
	require.Contains(t, said, "✗ mutual-exclusion")
	said, code = lockproof("run", found[0])
	require.Equal(t, exitUsage, code, said)
	require.Contains(t, said, "plain-delete", "the file knows its lock")
}
