package guard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A run that answers may have begun any time before it did, also after it was asked.
func TestLearn_CountsARunFromItsFirstAnswer(t *testing.T) {
	u := newUptime(10 * time.Second)
	require.Zero(t, u.learn(time.Second, "r1", 1, 0, 5*time.Second))
	require.Equal(t, 7*time.Second, u.learn(time.Second, "r1", 1, 12*time.Second, 12*time.Second))
	require.False(t, u.sure())
	require.Equal(t, 10*time.Second, u.learn(time.Second, "r1", 1, 15*time.Second, 16*time.Second))
}
