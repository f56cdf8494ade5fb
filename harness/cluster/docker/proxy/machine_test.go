package proxy

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A server was retired, its end was waited for, and whoever waited has lost patience, killed it and ordered a machine
// anew. With that the file goes by which the wait knows of the end.
func TestAnOrderThatWasGivenUpTakesNothingAway(t *testing.T) {
	volumes := t.TempDir()
	volume := filepath.Join(volumes, "n1")
	require.NoError(t, os.Mkdir(volume, 0o755))
	m, err := newMachines(volumes)
	require.NoError(t, err)
	require.NoError(t, m.retire(t.Context(), "n1"))
	patience, lose := context.WithCancel(t.Context())
	given := make(chan error)
	go func() { given <- m.renew(patience, Machine{Server: "n1", Retired: true}) }()
	lose()
	require.NoError(t, m.renew(t.Context(), Machine{Server: "n1", Settings: "of the second order\n"}))
	require.ErrorIs(t, <-given, context.Canceled)
	settings, err := os.ReadFile(filepath.Join(volume, settingsFile))
	require.NoError(t, err)
	require.Equal(t, "of the second order\n", string(settings))
}
