package settings

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatIsKnownOfAFailover(t *testing.T) {
	const master = "services:\n  db: {image: redis, restart: always}\n"
	for text, want := range map[string]*Failover{
		master: nil,
		master + "  r1: {image: redis, command: redis-server --replicaof db 6379}\n":                                                                         {Replicas: 1},
		master + "  r1: {image: redis, command: redis-server --replicaof db 6379}\n  r2: {image: redis, command: [redis-server, --replicaof, db, '6379']}\n": {Replicas: 2},
		master + "  w: {image: redis, command: 'redis-sentinel /s.conf --sentinel down-after-milliseconds m 5000'}\n":                                        {Replicas: 1, After: 5 * time.Second},
		master + "  w: {image: bitnami/redis-sentinel, environment: {REDIS_SENTINEL_DOWN_AFTER_MILLISECONDS: 60000}}\n":                                      {Replicas: 1, After: time.Minute},
		master + "  # a sentinel would have down-after-milliseconds m 5000\n":                                                                                nil,
	} {
		p, err := ParsePolicy("compose.yaml", []byte(text), "db")
		require.NoError(t, err, text)
		if want == nil {
			require.Nil(t, p.Failover, text)
			continue
		}
		require.NotNil(t, p.Failover, text)
		require.Equal(t, want.Replicas, p.Failover.Replicas, text)
		require.Equal(t, want.After, p.Failover.After, text)
	}
}

// Several servers of one that a file describes may be so many replicas.
func TestReplicasThatNobodyCounts(t *testing.T) {
	const two = "services:\n  db: {image: redis}\n  r1:\n    image: redis\n    command: redis-server --replicaof db 6379\n"
	for text, want := range map[string]string{
		two:                                      "",
		two + "    deploy:\n      replicas: 1\n": "",
		two + "    deploy:\n      replicas: 2\n": `compose.yaml:7 says "replicas: 2"`,
		two + "    scale: 12\n":                  `compose.yaml:6 says "scale: 12"`,
		two + "    # replicas: 2\n":              "",
		"services:\n  db: {image: redis}\n  s: {image: redis, command: redis-sentinel /s.conf}\n": "nothing that was read says how many",
	} {
		p, err := ParsePolicy("compose.yaml", []byte(text), "db")
		require.NoError(t, err, text)
		require.NotNil(t, p.Failover, text)
		if want == "" {
			require.Empty(t, p.Failover.Uncounted, text)
		} else {
			require.Contains(t, p.Failover.Uncounted, want, text)
		}
	}
}

func TestReadSentinel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	read := func(text string) (*Failover, error) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return Disk.ReadSentinel(file, 2)
	}
	f, err := read("port 26379\nsentinel monitor m 10.0.0.1 6379 2\nsentinel down-after-milliseconds m 5000\n" +
		"sentinel monitor o 10.0.0.2 6379 2\nsentinel down-after-milliseconds o 3000\n")
	require.NoError(t, err)
	require.Equal(t, 3*time.Second, f.After, "the soonest")
	require.Equal(t, 2, f.Replicas)
	require.Contains(t, f.Why, "sentinel.conf:5")

	f, err = read("sentinel\nsentinel monitor m 10.0.0.1 6379 2\nsentinel down-after-milliseconds m 3000\n" +
		"sentinel down-after-milliseconds o 3000\n")
	require.NoError(t, err)
	require.Contains(t, f.Why, "sentinel.conf:3", "of two that are as soon the first is named")

	f, err = read("sentinel monitor m 10.0.0.1 6379 2\n")
	require.NoError(t, err)
	require.Equal(t, 30*time.Second, f.After)

	_, err = read("appendonly yes\n")
	require.ErrorContains(t, err, "this is no Sentinel's file")
	_, err = Disk.ReadSentinel(filepath.Join(t.TempDir(), "none"), 0)
	require.Error(t, err)
}

func TestReplicatesIsSaidByTheFile(t *testing.T) {
	for text, want := range map[string]bool{"": false, "min-replicas-to-write 0": false, "min-replicas-to-write 1": true,
		"min-slaves-to-write 2": true, "replicaof 10.0.0.1 6379": true, "sentinel monitor m 10.0.0.1 6379 2": true} {
		r, err := ParseRedis("redis.conf", text)
		require.NoError(t, err)
		require.Equal(t, want, r.Replicates(), text)
	}
}
