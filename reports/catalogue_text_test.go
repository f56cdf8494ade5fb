package reports

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/scenarios"
)

// Whatever a schedule speaks of is in the set up that stands before it.
func TestScenarioTextHasTheSetUp(t *testing.T) {
	for name, texts := range map[string][]string{
		"sentinel-partition": {"replica:  r1 of n1", "3 Sentinels on n1, s1 to s3"},
		"shared-lock-object": {"c1 (thread b) acquires k1"},
		"short-ttl":          {"lock:     redlock, node timeout 4 ttl"},
		"client-pause":       {"on disk:  nothing (no persistence)"},
		"healthy-contention": {"ten keys\n    the same is expected"},
	} {
		selected, err := scenarios.Select([]string{name})
		require.NoError(t, err)
		for _, text := range texts {
			require.Contains(t, ScenarioText(selected[0], Screen{Width: 100, UTF8: true}), text, name)
		}
	}
}
