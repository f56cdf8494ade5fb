package harness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRestartsTakeTimeOnDocker: the TTL is longer where the script has to bring a
// container back within it, and nowhere else.
func TestRestartsTakeTimeOnDocker(t *testing.T) {
	for name, restarts := range map[string]int{
		"restart-without-persistence": 1,
		"clean-shutdown-aof":          1,
		"restart-delay-too-short":     1,
		"rolling-restart":             3,
		"supervisor-restarts-at-once": 1,
		"maintenance-restart":         3,
		"delayed-restart":             0,
		"majority-crash-delayed":      0,
		"minority-down":               0,
		"majority-down":               0,
		"client-pause":                0,
	} {
		j := Job{Scenario: load(t, name)}
		p, err := Options{Cluster: Docker}.settle(j)
		require.NoError(t, err)
		require.Equal(t, j.Scenario.TTL+time.Duration(restarts)*containerRestart, p.TTL, name)
		p, err = Options{Cluster: Local}.settle(j)
		require.NoError(t, err)
		require.Equal(t, j.Scenario.TTL, p.TTL, name)
		p, err = Options{Cluster: Docker, TTL: 30 * time.Second}.settle(j)
		require.NoError(t, err)
		require.Equal(t, 30*time.Second, p.TTL, name)
	}
}
