package foreign

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/cluster/local"
	"lockproof/harness/locks"
	"lockproof/harness/suite"
	"lockproof/internal/needs"
	"lockproof/scenarios"
)

// python is Debian's, which sees Debian's redis-py.
const python = "/usr/bin/python3"

// redis-py's Lock, in real processes: a holder that dies, one that is stopped and
// writes too late, and a store that compares versions.
func TestTheLockOfRedisPy(t *testing.T) {
	needs.Check(t, needs.Redis, local.Available(""))
	said, err := exec.Command(python, "-c", "import redis").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", python, err, said)
	}
	needs.Check(t, needs.Python, err)
	command := []string{python, "../kits/python/redis_py.py"}
	var lines strings.Builder
	require.NoError(t, Check(context.Background(), command, &lines))
	require.Contains(t, lines.String(), "ok    a stall is told of after SIGSTOP")
	require.Contains(t, lines.String(), "skip  clock")
	kind, err := Kind(context.Background(), command)
	require.NoError(t, err)
	require.NoError(t, kind.Broken)
	require.Contains(t, kind.Name, "redis-py ")
	require.True(t, kind.Extends && kind.SingleNode && !kind.Watches)
	locks.Register(kind)
	o := suite.Options{Cluster: suite.Local, Trials: 1, Seed: 1, Lock: kind.Name, Worker: command, Out: t.TempDir(),
		Parallel: 1, Retries: suite.DefaultRetries}
	selected, err := scenarios.Select([]string{"holder-crashes", "client-pause", "token-check-and-set"})
	require.NoError(t, err)
	jobs, err := o.Jobs(selected)
	require.NoError(t, err)
	trials, err := suite.Run(context.Background(), jobs, o, func(suite.Result) {})
	require.NoError(t, err)
	require.Len(t, trials, 3)
	for _, trial := range trials {
		standing, why := trial.Standing()
		require.Equal(t, suite.AsExpected, standing, "%s: %s", trial.Name(), why)
	}
}
