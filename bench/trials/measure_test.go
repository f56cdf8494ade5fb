package trials

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/suite"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == Child {
		os.Exit(Serve())
	}
	os.Exit(m.Run())
}

// An unexpected result is an error, not a figure.
func TestTimed_UnexpectedResult_Fails(t *testing.T) {
	o := suite.Options{Cluster: suite.Virtual, Trials: 1, Seed: 1, Parallel: 1}
	for _, cores := range []int{1, 2} {
		for _, inside := range []bool{true, false} {
			w := way{cores: cores, inside: inside}
			took, err := w.run(t.Context(), 0)
			require.NoError(t, err)
			require.Positive(t, took)
		}
	}

	o.Lock = "redsync"
	_, err := inChildren(t.Context(), []string{"late-release"}, o)
	require.ErrorContains(t, err, "late-release")
}
