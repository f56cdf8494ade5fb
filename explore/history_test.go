package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
	"lockproof/harness/suite"
)

// One seed gives one history: also where a fault ends at the instant at which a client
// sends (353, 741, 806), where all nodes fail at one instant (672, 777), where one
// deadline cuts short what several were asked (270 and 400 with all rules, and redsync's),
// and where connections end together and a client library sends again what they left
// without an answer (65, 203, 210 and 270 with all rules).
func TestADrawnScheduleGivesOneHistory(t *testing.T) {
	children := &suite.Children{}
	p, err := children.Pool(suite.Options{Cluster: suite.Virtual, Events: true})
	require.NoError(t, err)
	t.Cleanup(func() { p.Close(); children.Close() })
	for _, c := range []struct {
		lock    string
		without []string
		few     uint64 // from 0 on
		seeds   []uint64
	}{
		{lock: "redlock", without: []string{"Majority"}, few: 60, seeds: []uint64{353, 672, 741, 777, 806}},
		{lock: "redlock", few: 60, seeds: []uint64{65, 203, 210, 270, 400}},
		{lock: "redsync", few: 60, seeds: []uint64{79, 85, 105, 130, 137, 148}},
	} {
		s := space(t, func(s *Space) { s.Lock, s.Without = c.lock, c.without })
		require.NoError(t, s.prepare())
		run := func(seed uint64) []history.Event { return p.Try(t.Context(), s.job(s.Draw(seed)), seed).Events }
		for seed := range c.few {
			c.seeds = append(c.seeds, seed)
		}
		for _, seed := range c.seeds {
			first := run(seed)
			require.NotEmpty(t, first, "%s, seed %d", c.lock, seed)
			for range 3 {
				require.Equal(t, first, run(seed), "%s, seed %d", c.lock, seed)
			}
		}
	}
}
