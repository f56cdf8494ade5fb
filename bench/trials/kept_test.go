package trials

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/bench/checking"
	"example.org/lockproof/harness/history"
)

// The crowd's names are plain strings: a million leases take less than 1 GB.
func TestKeptPerLease(t *testing.T) {
	name := filepath.Join(t.TempDir(), "history.jsonl")
	f, err := os.Create(name)
	require.NoError(t, err)
	w := history.NewWriter(f)
	require.NoError(t, checking.Crowd(20_000, false)(func(e *history.Event) error { w.Write(*e); return nil }))
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	kept, err := keptPerLease(name)
	require.NoError(t, err)
	require.Greater(t, kept, 100.0)
	require.Less(t, kept, 800.0)
}
