package validate

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/local"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/needs"
)

func TestMain(m *testing.M) {
	clustertest.Main(m, map[string]func(io.Reader, io.Writer) error{"worker": client.ServeWorker})
}

// needRedis skips a test if the machine has no redis-server or cannot inject disk faults.
func needRedis(t *testing.T) {
	t.Helper()
	needs.Check(t, needs.Redis, local.Available(""))
	needs.PlainTemp(t)
	needs.Check(t, needs.Compiler, local.Kind.Can(cluster.AbilityPowerLoss))
}

func TestTheNineFilesOnRealRedis(t *testing.T) {
	needRedis(t)
	for _, f := range files {
		t.Run(f.file, func(t *testing.T) {
			a := runner(t, f.file, 0)
			a.On, a.Trials = suite.Local, 1
			answer := judged(t, a)
			if persistenceOf(a.Server.Redis) == cluster.PersistEverysec && answer.Rows[2].Verdict == Safe {
				answer = judged(t, a) // a new second of everysec began between two commands
			}
			require.Equal(t, f.rows, verdicts(answer), "%+v", answer.Rows)
			if f.hazard == "" {
				require.Empty(t, answer.Hazards)
				return
			}
			require.Equal(t, f.hazard, answer.Hazards[0].Name)
			require.Equal(t, Unsafe, answer.Hazards[0].Verdict, answer.Hazards[0].Reason)
			require.Equal(t, Unsafe, answer.Verdict)
		})
	}
}
