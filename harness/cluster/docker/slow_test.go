//go:build unix

package docker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
)

// A slow Compose is installed, so the advice is not to install it.
func TestFindCompose_Slow_NamesTheTimeout(t *testing.T) {
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

// A missing network is a missing requirement, with one line. Any other failed build shows its output.
func TestUnbuilt_ContainersOffline_IsUnsupported(t *testing.T) {
	var lack *cluster.Unsupported
	err := unbuilt("lockproof:x", errors.New("The command '/bin/sh -c apt-get update' returned 100; W: Failed to "+
		"fetch http://deb.debian.org/ Temporary failure resolving 'deb.debian.org'"))
	require.ErrorAs(t, err, &lack)
	require.NotContains(t, err.Error(), "apt-get")
	err = unbuilt("lockproof:x", errors.New("gcc: error: unrecognized option"))
	require.NotErrorAs(t, err, &lack)
	require.ErrorContains(t, err, "unrecognized option")
}
