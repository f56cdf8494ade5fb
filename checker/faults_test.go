package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// What a fault on several targets met, told with its end, is told of each of them.
func TestTheEndOfAFaultTellsOfAllItsTargets(t *testing.T) {
	s := tale()
	s.counted(1000, 1200, 3, history.Fault{Kind: "cut", Targets: []string{"c1-n1", "c1-n2"}})
	for _, f := range s.history(t, 0).analysis.faults {
		require.NotNil(t, f.impact, f.target)
		require.Equal(t, 3, *f.impact)
	}
}
