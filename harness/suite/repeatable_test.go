package suite

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/internal/needs"
	"example.org/lockproof/scenarios"
)

// One seed gives one history, byte for byte, whatever ran in the process before:
// random schedules give the same in one order, in another, and each alone.
func TestOneSeedGivesOneHistory(t *testing.T) {
	needs.Long(t, "it runs fifty schedules three times")
	const schedules = 50
	draw := rapid.Custom(randomScenario)
	var all []*scenarios.Scenario
	var order []int
	for i := range schedules {
		all, order = append(all, draw.Example(i)), append(order, i)
	}
	together := func() (histories [schedules]string) {
		c := &Children{}
		defer c.Close()
		for _, i := range order {
			histories[i] = historyOf(t, c, all[i], i)
		}
		return histories
	}
	forth := together()
	slices.Reverse(order)
	back := together()
	for i, s := range all {
		require.Equal(t, forth[i], back[i], "schedule %d gives another history in another order", i)
		c := &Children{}
		require.Equal(t, forth[i], historyOf(t, c, s, i), "schedule %d gives another history alone", i)
		c.Close()
	}
}

func historyOf(t *testing.T, c *Children, s *scenarios.Scenario, seed int) string {
	t.Helper()
	o := Options{Cluster: Virtual, Trials: 1, Seed: uint64(seed), Out: t.TempDir(), Parallel: 1}
	trials, err := c.Run(context.Background(), []Job{{Scenario: s}}, o, func(Result) {})
	require.NoError(t, err)
	require.Empty(t, trials[0].Failure)
	data, err := os.ReadFile(filepath.Join(o.Out, filepath.FromSlash(trials[0].History)))
	require.NoError(t, err)
	return string(data)
}
