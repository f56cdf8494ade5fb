package lock

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTrial_EndsAfterEnoughRounds(t *testing.T) {
	rounds := func(tr trial) (n int) {
		for !tr.enough(n, nil) {
			n++
		}
		return n - 1
	}
	require.Equal(t, 9, rounds(trial{rounds: 9}))
	asked := 0
	known := func([][]round) bool { asked++; return asked == 3 }
	require.Equal(t, 30, rounds(trial{rounds: 10, known: known, most: 100}))
	require.Equal(t, 25, rounds(trial{rounds: 10, known: func([][]round) bool { return false }, most: 25}))
}
