package suite

import (
	"io"
	"testing"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/local"
	"example.org/lockproof/internal/needs"
)

// Tests start the binary as a cluster's client and as a child that runs trials.
func TestMain(m *testing.M) {
	clustertest.Main(m, map[string]func(io.Reader, io.Writer) error{"worker": client.ServeWorker, "trials": ServeTrials})
}

func needRedis(t *testing.T) {
	t.Helper()
	needs.Check(t, needs.Redis, local.Available(""))
}
