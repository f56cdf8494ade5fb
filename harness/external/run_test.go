package external

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/local"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/needs"
	"example.org/lockproof/scenarios"
)

// A run tells a bad worker what worker-check does: before the first row what its hello
// shows, and in a row that has failed, and shows nothing of any lock, what comes later.
func TestABadWorkerInARun(t *testing.T) {
	needs.Check(t, needs.Redis, local.Available(""))
	selected, err := scenarios.Select([]string{"token-check-and-set"})
	require.NoError(t, err)
	for name, c := range bad {
		t.Run(name, func(t *testing.T) {
			worker := []string{os.Args[0], "bad-worker", name}
			kind, err := Kind(context.Background(), worker, false)
			if c.then == nil {
				if err == nil {
					err = kind.Err
				}
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			kind.SingleNode = true
			locks.Register(kind)
			o := suite.Options{Cluster: suite.Local, Trials: 1, Seed: 1, Lock: kind.Name, Worker: worker, Out: t.TempDir(),
				Parallel: 1, Retries: suite.DefaultRetries}
			jobs, err := o.Jobs(selected)
			require.NoError(t, err)
			trials, err := suite.Run(context.Background(), jobs, o, func(suite.Result) {})
			require.NoError(t, err)
			require.Len(t, trials, 1)
			if first, _, _ := strings.Cut(trials[0].Failure, "\n"); name == "answers twice" && first == "step 1 (acquire c1): client c1: no" {
				return // the first answer is a failure, too, and ended the run before the second was read
			}
			require.Contains(t, trials[0].Failure, c.want)
			require.Empty(t, trials[0].Judgements())
		})
	}
}
