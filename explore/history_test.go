package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/needs"
)

// One seed gives one history: also where a fault ends at the instant at which a client
// sends (353, 741, 806), where all nodes fail at one instant (672, 777), where one
// deadline cuts short what several were asked (270 and 400 with all rules, and redsync's),
// and where connections end together and a client library sends again what they left
// without an answer (65, 203, 210 and 270 with all rules), where links that are healed at
// one instant bring the answers to SETs (20102, 21094, 22828), a client that was paused is
// told to acquire and to cancel that (20285, 21103, 22941), a loss is told as a client is
// closed (1075, 21292, 23244), and a timeout of the client library's is over with the
// caller's own (389, 872, 1861).
func TestDraw_OneScheduleOneHistory(t *testing.T) {
	needs.Long(t, "it runs hundreds of drawn schedules twice")
	children := &suite.Children{}
	p, err := children.Pool(suite.Options{Cluster: suite.Virtual, Events: true, Parallel: 1}) // so it has all processors
	require.NoError(t, err)
	t.Cleanup(children.Close)
	for _, c := range []struct {
		lock    string
		without []string
		few     uint64 // from 0 on
		seeds   []uint64
	}{
		{lock: "redlock", without: []string{"Majority"}, few: 60, seeds: []uint64{353, 672, 741, 777, 806}},
		{lock: "redlock", few: 60, seeds: []uint64{65, 203, 210, 270, 400, 1075, 20102, 20285, 21094, 21103, 21292, 22828, 22941, 23244}},
		{lock: "redlock", without: []string{"NodeTimeout"}, seeds: []uint64{389, 872, 1861}},
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
