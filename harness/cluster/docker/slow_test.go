//go:build unix

package docker

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockproof/harness/cluster"
)

// A Compose that does not answer in time is there: nobody is told to install it.
func TestAComposeThatIsSlow(t *testing.T) {
	path := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(path, "docker"), []byte("#!/bin/sh\nwhile :; do :; done\n"), 0o700))
	t.Setenv("PATH", path)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := findCompose(ctx)
	var lack *cluster.Unsupported
	require.ErrorAs(t, err, &lack)
	require.Contains(t, lack.Why, "`docker compose version` has not answered for 10s")
	require.NotContains(t, lack.How, "install")
}
