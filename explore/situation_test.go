package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/internal/needs"
)

// Each situation shows the rule that it is for when that is off, and not otherwise.
func TestSituations_LivenessFaults(t *testing.T) {
	needs.Long(t, "it searches once for each situation")
	p := pool(t)
	for rule, situation := range map[string]func(*generator){"RetryJitter": (*generator).addCompetitors,
		"BoundedExtensions": (*generator).keepRunning} {
		shown := 0
		for seed := range uint64(30) {
			s := space(t, nil)
			d := s.drawer(seed)
			situation(d)
			d.out.normalize()
			for _, off := range [][]string{nil, {rule}} {
				s.Without = off
				r := p.Try(t.Context(), s.job(d.out), seed)
				require.Empty(t, r.Failure)
				for _, property := range s.violated(r) {
					require.Equal(t, []string{rule}, off, "seed %d: %s", seed, property)
					if property == checker.DeadlockFreedom {
						shown++
					}
				}
			}
		}
		require.Positive(t, shown, rule)
	}
}
