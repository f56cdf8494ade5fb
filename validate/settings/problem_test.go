package settings

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
)

// Whatever a nemesis can do that takes a node down is a crash that is asked about.
func TestEveryFaultThatTakesANodeDownIsACrash(t *testing.T) {
	var down []string
	for _, d := range nemesis.Declarations() {
		if d.Node != nil && d.Node.Class == history.NodeDown {
			down = append(down, string(d.Kind))
		}
	}
	require.ElementsMatch(t, down, CrashNames())
}
