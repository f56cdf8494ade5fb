package reports

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
)

// The sentence names what the lanes show: a pause over the end of the lease, a write past it, or
// neither; and it names nothing that they do not.
func TestHeadlineSaysHowAnUpdateWasLost(t *testing.T) {
	v := &checker.Violation{From: 50, Until: 55, Processes: []string{"c2", "c1"}}
	lease := Stretch{From: 10, Until: 40, State: Holding}
	for want, stretches := range map[string][]Stretch{
		"c1 slept through the end of its lease, woke, and overwrote c2's update": {lease,
			{From: 20, Until: 45, State: Paused}},
		"c1's write came after the end of its lease, and overwrote c2's update": {lease,
			{From: 42, Until: 45, State: Paused}},
		"c1 overwrote c2's update": {{From: 10, Until: 90, State: Holding}},
	} {
		s := Story{Clients: []Lane{{Name: "c1", Stretches: stretches}},
			Store: &Lane{Points: []Point{{Time: 60, Kind: PointUndoing, Owner: "c1", Victim: "c2"}}}}
		require.Equal(t, want, s.Headline(v))
		require.Empty(t, s.Headline(nil))
		require.Empty(t, s.Headline(&checker.Violation{From: 50, Until: 55, Processes: []string{"c3", "c4"}}))
	}
}
