package settings

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const mastersAndReplicas = "services:\n  primary:\n    image: redis:7.2\n    command: redis-server --appendonly yes\n"

// WAITAOF counts no replica without an append-only file, wherever that is set.
func TestReplicasThatAreNeverOnDisk(t *testing.T) {
	for name, tt := range map[string]struct {
		replicas string
		without  []string
		wait     int
		never    bool
	}{
		"by default": {"  r1:\n    image: redis:7.2\n    command: redis-server --replicaof primary 6379\n",
			[]string{"compose.yaml:7: r1 is not told appendonly yes, and the default is no"}, 1, true},
		"on its command line": {"  r1:\n    image: redis:7.2\n    command: redis-server --replicaof primary 6379 --appendonly no\n",
			[]string{"compose.yaml:7: r1 says appendonly no"}, 1, true},
		"in its file": {"  r1:\n    image: redis:7.2\n    command: redis-server /redis.conf\n    volumes: ['./r.conf:/redis.conf']\n",
			[]string{"r.conf:2: r1 says appendonly no"}, 1, true},
		"with one": {"  r1:\n    image: redis:7.2\n    command: redis-server --replicaof primary 6379 --appendonly yes\n", nil, 1, false},
		"one of two, and one is enough": {"  r1:\n    image: redis:7.2\n    command: redis-server --replicaof primary 6379 --appendonly yes\n" +
			"  r2:\n    image: redis:7.2\n    command: redis-server --replicaof primary 6379\n",
			[]string{"compose.yaml:10: r2 is not told appendonly yes, and the default is no"}, 1, false},
		"one of two, and both are waited for": {"  r1:\n    image: redis:7.2\n    command: redis-server --replicaof primary 6379 --appendonly yes\n" +
			"  r2:\n    image: redis:7.2\n    command: redis-server --replicaof primary 6379\n",
			[]string{"compose.yaml:10: r2 is not told appendonly yes, and the default is no"}, 2, true},
		"not known": {"  r1:\n    image: redis:7.2\n    command: redis-server ${OPTIONS} --replicaof primary 6379\n", nil, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			require.NoError(t, os.WriteFile("compose.yaml", []byte(mastersAndReplicas+tt.replicas), 0o600))
			require.NoError(t, os.WriteFile("r.conf", []byte("replicaof primary 6379\nappendonly no\n"), 0o600))
			p, err := Disk.ReadPolicy("compose.yaml", "primary")
			require.NoError(t, err)
			require.NotNil(t, p.Failover)
			require.Equal(t, tt.without, p.Failover.WithoutAOF)
			require.Equal(t, tt.never, p.Failover.NeverOnDisk(tt.wait))
			require.False(t, p.Failover.NeverOnDisk(0))
		})
	}
}

// Redis takes a mark of the bytes' order for a part of the first word, and its patterns leave
// out hidden files.
func TestFilesThatRedisReadsOtherwise(t *testing.T) {
	folder := t.TempDir()
	main := filepath.Join(folder, "redis.conf")
	require.NoError(t, os.WriteFile(main, []byte("\ufeffappendonly yes\n"), 0o600))
	_, err := Disk.ReadRedis(main, nil)
	require.ErrorContains(t, err, "redis.conf:1:1: there is a mark of the bytes' order")

	require.NoError(t, os.WriteFile(filepath.Join(folder, ".hidden.conf"), []byte("appendonly yes\n"), 0o600))
	require.NoError(t, os.WriteFile(main, []byte("include "+folder+"/*.conf.d\ninclude "+folder+"/*hidden.conf\n"), 0o600))
	s, err := Disk.ReadRedis(main, nil)
	require.NoError(t, err)
	require.False(t, s.AppendOnly)
}

// The lock may be on any of a Sentinel's masters, also on one that waits as by default.
func TestTheLeastOfASentinelsMastersCounts(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("sentinel.conf", []byte("sentinel monitor a 10.0.0.1 6379 2\nsentinel down-after-milliseconds a 90000\n"+
		"sentinel monitor b 10.0.0.2 6379 2\n"), 0o600))
	f, err := Disk.ReadSentinel("sentinel.conf", 1)
	require.NoError(t, err)
	require.Equal(t, downAfterDefault, f.After)
}
