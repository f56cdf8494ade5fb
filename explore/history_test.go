package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
	"lockproof/harness/suite"
)

// One seed gives one history: also where a fault ends at the instant at which a client
// sends (353, 741, 806), and where all nodes fail at one instant (672, 777).
func TestADrawnScheduleGivesOneHistory(t *testing.T) {
	children := &suite.Children{}
	p, err := children.Pool(suite.Options{Cluster: suite.Virtual, Events: true})
	require.NoError(t, err)
	t.Cleanup(func() { p.Close(); children.Close() })
	s := space(t, func(s *Space) { s.Without = []string{"Majority"} })
	require.NoError(t, s.prepare())
	run := func(seed uint64) []history.Event { return p.Try(t.Context(), s.job(s.Draw(seed)), seed).Events }
	seeds := []uint64{353, 672, 741, 777, 806}
	for seed := range uint64(60) {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		first := run(seed)
		require.NotEmpty(t, first, "seed %d", seed)
		for range 3 {
			require.Equal(t, first, run(seed), "seed %d", seed)
		}
	}
}
