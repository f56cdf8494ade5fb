package suite

import (
	"fmt"
	"os"
	"testing"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster/local"
	"example.org/lockproof/internal/needs"
)

// TestMain makes the test binary a client when the local cluster starts it as
// one, and a child of Children; otherwise it gives the tests a place of their own for what the local
// cluster keeps on record.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "worker" {
		if err := client.ServeWorker(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "trials" {
		if err := ServeTrials(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	state, err := os.MkdirTemp("", "harness-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_CACHE_HOME", state)
	os.Setenv("HOME", state)
	code := m.Run()
	os.RemoveAll(state)
	os.Exit(code)
}

// needRedis skips a test where no server can be run.
func needRedis(t *testing.T) {
	t.Helper()
	needs.Check(t, needs.Redis, local.Available(""))
}
