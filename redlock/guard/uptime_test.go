package guard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A run may begin at any time before its first answer, even after INFO was sent.
func TestLearn_CountsARunFromItsFirstAnswer(t *testing.T) {
	u := newUptime(10 * time.Second)
	require.Zero(t, u.learn(time.Second, "r1", 1, 0, 5*time.Second))
	require.Equal(t, 7*time.Second, u.learn(time.Second, "r1", 1, 12*time.Second, 12*time.Second))
	require.False(t, u.verified())
	require.Equal(t, 10*time.Second, u.learn(time.Second, "r1", 1, 15*time.Second, 16*time.Second))
}
