package explore

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
	"example.org/lockproof/scenarios"
)

// What is gone through is small first, each once, and all of it can be read as files.
func TestExhaust_CoversSmallScope(t *testing.T) {
	needs.Long(t, "it runs every schedule of a scope")
	for _, change := range []func(*Space){nil, everything, func(s *Space) { s.Lock = "redsync" }} {
		s := space(t, change)
		all := s.All()
		seen := map[string]bool{}
		for i, schedule := range all {
			text, err := json.Marshal(schedule)
			require.NoError(t, err)
			require.False(t, seen[string(text)], "%d is there twice", i)
			seen[string(text)] = true
			require.True(t, i == 0 || len(all[i-1].Steps) <= len(schedule.Steps), "%d has fewer steps than the one before", i)
			if i%97 == 0 {
				file := schedule.Text(About{Name: "small", Title: "t", Source: "s", Lesson: "l",
					Expect: map[string]string{"mutual-exclusion": "holds"}})
				_, err := scenarios.Parse("small.yaml", file)
				require.NoError(t, err, string(file))
			}
		}
		require.Greater(t, len(all), 5000)
	}
}

// The first that breaks a rule is among the shortest, so that nothing need be shrunk.
func TestExhaust_FindsShortest(t *testing.T) {
	p := pool(t)
	search := Search{Question: Question{Space: space(t, func(s *Space) {
		s.Without, s.Properties = []string{"CompareAndDelete"}, []string{"mutual-exclusion"}
	}), Enough: 1}, Shrink: time.Minute, Try: p.Try, Parallel: p.Size()}
	require.NoError(t, search.Exhaust())
	tally, err := search.Run(t.Context())
	require.NoError(t, err)
	require.Len(t, tally.Finds, 1)
	require.LessOrEqual(t, len(tally.Finds[0].Drawn.Steps), 4)
}
