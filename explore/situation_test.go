package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/checker"
)

// Each situation shows the rule that it is for when that is off, and not otherwise.
func TestSituationsShowWhatKeepsALockFromBeingGranted(t *testing.T) {
	p := pool(t)
	for rule, situation := range map[string]func(*drawer){"RetryJitter": (*drawer).crowd, "BoundedExtensions": (*drawer).stay} {
		shown := 0
		for seed := range uint64(30) {
			s := space(t, nil)
			d := s.drawer(seed)
			situation(d)
			d.out.settle()
			for _, off := range [][]string{nil, {rule}} {
				s.Without = off
				r := p.Try(t.Context(), s.job(d.out), seed)
				require.Empty(t, r.Failure)
				for _, b := range s.breaches(r) {
					require.Equal(t, rule, b.Broke, "seed %d, without %v", seed, off)
					if b.Property == checker.DeadlockFreedom {
						shown++
					}
				}
			}
		}
		require.Positive(t, shown, rule)
	}
}
