package proxy

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A server was retired, its end was waited for, and whoever waited has killed it and ordered a
// machine anew. With that the file goes by which the wait knows of the end.
func TestAnOrderThatWasGivenUpTakesNothingAway(t *testing.T) {
	volumes := t.TempDir()
	volume := filepath.Join(volumes, "n1")
	require.NoError(t, os.Mkdir(volume, 0o755))
	m, err := newMachines(volumes)
	require.NoError(t, err)
	require.NoError(t, m.retire("n1"))
	given := make(chan error)
	go func() { given <- m.renew(Machine{Server: "n1", Retired: true}) }()
	require.Eventually(t, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.orders["n1"] == 3 // the first, its retirement, and this
	}, 5*time.Second, time.Millisecond)
	require.NoError(t, m.renew(Machine{Server: "n1", Settings: "of the second order\n"}))
	before, err := os.Stat(filepath.Join(volume, controlFile))
	require.NoError(t, err)

	require.ErrorContains(t, <-given, "another machine of n1 has been asked for meanwhile")
	after, err := os.Stat(filepath.Join(volume, controlFile))
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after), "a server that has begun with it is commanded by it")
	settings, err := os.ReadFile(filepath.Join(volume, settingsFile))
	require.NoError(t, err)
	require.Equal(t, "of the second order\n", string(settings))
}
