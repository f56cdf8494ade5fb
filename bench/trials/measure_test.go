package trials

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness"
)

// What does not come out as expected is no figure.
func TestSuiteWantsWhatIsExpected(t *testing.T) {
	o := harness.Options{Cluster: harness.Virtual, Trials: 1, Seed: 1}
	took, err := suite(context.Background(), []string{scenario}, o)
	require.NoError(t, err)
	require.Positive(t, took)

	o.Lock = "redsync"
	_, err = suite(context.Background(), []string{"late-release"}, o)
	require.ErrorContains(t, err, "late-release")
}
