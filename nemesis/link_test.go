package nemesis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
)

// ways is a link of which it is known what passed it, by direction.
type ways struct {
	cluster.Link
	passed map[cluster.Direction]cluster.Traffic
}

func (w ways) Measure(d cluster.Direction) func() cluster.Traffic {
	return func() cluster.Traffic { return w.passed[d] }
}

// The quickest message of a link is that of either way, of ways that any passed.
func TestMeasureTraffic_ShortestOfBothDirections(t *testing.T) {
	for _, c := range []struct {
		there, back cluster.Traffic
		shortest    time.Duration
	}{
		{cluster.Traffic{Messages: 1, SetOut: 2, Shortest: 3}, cluster.Traffic{Messages: 1, Shortest: 5}, 3},
		{cluster.Traffic{Messages: 1, Shortest: 5}, cluster.Traffic{Messages: 1, SetOut: 2, Shortest: 3}, 3},
		{cluster.Traffic{SetOut: 1, Shortest: 0}, cluster.Traffic{Messages: 2, SetOut: 1, Shortest: 3}, 3},
		{cluster.Traffic{Messages: 2, SetOut: 1, Shortest: 3}, cluster.Traffic{SetOut: 1, Shortest: 0}, 3},
	} {
		link := ways{passed: map[cluster.Direction]cluster.Traffic{cluster.ToNode: c.there, cluster.ToClient: c.back}}
		sum := measureTraffic(link, cluster.Both)()
		require.Equal(t, cluster.Traffic{Messages: 2, SetOut: 2, Shortest: c.shortest}, sum)
	}
}
