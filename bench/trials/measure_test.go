package trials

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/suite"
)

// What does not come out as expected is no figure.
func TestSuiteWantsWhatIsExpected(t *testing.T) {
	o := suite.Options{Cluster: suite.Virtual, Trials: 1, Seed: 1}
	took, err := timed(context.Background(), []string{scenario}, o)
	require.NoError(t, err)
	require.Positive(t, took)

	o.Lock = "redsync"
	_, err = timed(context.Background(), []string{"late-release"}, o)
	require.ErrorContains(t, err, "late-release")
}
