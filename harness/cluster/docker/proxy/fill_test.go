package proxy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/realcluster"
)

// What is no small disk is not filled, whatever is mounted in its place.
func TestOnlySmallDisksAreFilled(t *testing.T) {
	volumes, small := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(volumes, "n1"), 0o755))
	m, err := newMachines(volumes, small)
	require.NoError(t, err)
	_, err = m.disturb(Disk{Server: "n1", Disk: realcluster.Disk{Full: true}})
	require.ErrorContains(t, err, "the disk of n1 is not a small one")
	require.ErrorContains(t, m.renew(Machine{Server: "n1", Small: true}), "the small disk of n1")

	disk := filepath.Join(small, "n1")
	require.NoError(t, os.Mkdir(disk, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(disk, "dump.rdb"), []byte("of the run before"), 0o644))
	require.NoError(t, m.renew(Machine{Server: "n1", Settings: "save \"\"\n", Small: true}))
	content, err := os.ReadFile(filepath.Join(volumes, "n1", settingsFile))
	require.NoError(t, err)
	require.Equal(t, "save \"\"\ndir /small\n", string(content))
	_, err = m.disturb(Disk{Server: "n1", Disk: realcluster.Disk{Full: true}})
	require.ErrorContains(t, err, "is on no small disk: 16777216 bytes do not fill it")
	left, err := os.ReadDir(disk)
	require.NoError(t, err)
	require.Empty(t, left, "neither what was there before nor the ballast")
	_, err = m.disturb(Disk{Server: "n1"})
	require.NoError(t, err, "there is room already")
}
