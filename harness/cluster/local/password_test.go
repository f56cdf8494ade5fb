package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/server"
)

// Another user of the machine, who can dial whatever listens on loopback but has
// no password, gets nothing from any server, past the links or over them; nor do
// the command lines, which everybody may list, or a file that others can read
// tell the password.
func TestStrangersAreRefused(t *testing.T) {
	t.Parallel()
	l := start(t, 1, func(cfg *cluster.Config) {
		cfg.Replicas, cfg.Sentinels = map[string]string{"r1": "n1"}, 3
	})
	var addresses []string
	for _, addr := range l.Paths {
		addresses = append(addresses, addr)
	}
	for _, h := range l.hosts {
		addresses = append(addresses, h.addr)
	}
	require.Len(t, addresses, 2*(3+3)+1+2+3+3, "of c1 and c2, of r1, of the Sentinels, and the servers' own")
	for _, addr := range addresses {
		stranger := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, Protocol: 2, DisableIdentity: true})
		require.ErrorContains(t, stranger.Ping(t.Context()).Err(), "NOAUTH", addr)
		require.NoError(t, stranger.Close())
	}

	for _, h := range l.hosts {
		words, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", h.proc.Load().Identity().PID))
		if err == nil { // where there is /proc
			require.NotContains(t, string(words), server.Password())
		}
	}
	open, err := os.Stat(l.record.Folder())
	require.NoError(t, err)
	require.Zero(t, open.Mode().Perm()&0o077, "others can enter %s", l.record.Folder())
	require.True(t, slices.ContainsFunc(readAll(t, l.record.Folder(), "redis.conf"), func(text string) bool {
		return strings.Contains(text, "requirepass "+server.Password())
	}))
}

// readAll reads all files of a name below a folder.
func readAll(t *testing.T, folder, name string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*", name))
	require.NoError(t, err)
	var texts []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		texts = append(texts, string(text))
	}
	return texts
}
