//go:build unix

package input

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The pipe has no writer: opening it would hang.
func TestOpen_NamedPipe_Fails(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	_, err := Read(name, Config)
	require.ErrorIs(t, err, ErrIrregular)
	require.EqualError(t, Cause(err), "it is a named pipe, not a regular file")
}
