package settings

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// failoverOf is what a compose file or a workload says, with a sentinel.conf beside it.
func failoverOf(t *testing.T, text, sentinel string) (*Failover, Policy) {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("deploy.yaml", []byte(text), 0o600))
	if sentinel != "" {
		require.NoError(t, os.WriteFile("sentinel.conf", []byte(sentinel), 0o600))
	}
	p, err := Disk.ReadPolicy("deploy.yaml", "")
	require.NoError(t, err)
	require.NotNil(t, p.Failover)
	return p.Failover, p
}

const (
	watchedService = "services:\n  redis: {image: redis, command: redis-server}\n" +
		"  copy: {image: redis, command: redis-server --replicaof redis 6379}\n"
	mountedSentinel = watchedService + "  watch:\n    image: redis\n    command: redis-sentinel /etc/sentinel.conf\n" +
		"    volumes: [\"./sentinel.conf:/etc/sentinel.conf\"]\n"
	watchedPod = "kind: Pod\nspec:\n  containers:\n  - {name: redis, image: redis}\n  - name: watch\n" +
		"    command: [redis-server, /etc/sentinel.conf, --sentinel]\n" +
		"    volumeMounts: [{name: settings, mountPath: /etc}]\n  volumes: [{name: settings, configMap: {name: watch}}]\n"
)

// A Sentinel's file is found as a server's is: in a bind mount, or in a ConfigMap.
func TestTheSentinelsFileIsFound(t *testing.T) {
	const monitor = "sentinel monitor m redis 6379 2\n"
	for name, tt := range map[string]struct {
		text, file string
		after      time.Duration
		why        string
	}{
		"a bind mount": {mountedSentinel, monitor + "sentinel down-after-milliseconds m 7000\n", 7 * time.Second,
			"sentinel.conf:2"},
		"its default":      {mountedSentinel, monitor, 30 * time.Second, "30s by default (sentinel.conf)"},
		"a file not there": {mountedSentinel, "", 0, "which was not read (there is no sentinel.conf)"},
		"no Sentinel's":    {mountedSentinel, "port 1\n", 0, "no line says sentinel monitor"},
		"a ConfigMap": {watchedPod + "---\nkind: ConfigMap\nmetadata: {name: watch}\ndata:\n  sentinel.conf: |\n" +
			"    " + monitor, "", 30 * time.Second, "ConfigMap watch"},
		"a ConfigMap not there": {watchedPod, "", 0, "the ConfigMap watch is not in this file"},
		"two of which one is not read": {mountedSentinel + "  other: {image: redis, command: redis-sentinel /x.conf}\n", monitor,
			0, "/x.conf, which was not read"},
		"two of which one is sooner": {mountedSentinel + "  other:\n    image: redis\n    command: redis-sentinel /x.conf\n" +
			"    configs: [{source: x, target: /x.conf}]\n" +
			"configs:\n  x:\n    content: |\n      " + monitor + "      sentinel down-after-milliseconds m 4000\n", monitor,
			4 * time.Second, "4s (deploy.yaml)"},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := failoverOf(t, tt.text, tt.file)
			require.Equal(t, tt.after, f.After, f.Why)
			require.Contains(t, f.Why, tt.why)
		})
	}
}

// A replica of priority 0 is promoted by no Sentinel; if all of them are, only a hand does.
func TestReplicaPriority(t *testing.T) {
	const never = "  none: {image: redis, command: redis-server --replicaof redis 6379 --replica-priority 0}\n"
	for name, tt := range map[string]struct {
		text     string
		replicas int
		never    bool
	}{
		"none is passed over": {mountedSentinel, 1, false},
		"one of two":          {mountedSentinel + never, 2, false},
		"all": {"services:\n" +
			"  redis: {image: redis}\n" + never + "  watch: {image: redis, command: redis-sentinel /x.conf}\n", 1, true},
		"all, and no Sentinel": {"services:\n  redis: {image: redis}\n" + never, 1, false},
		"two values": {"services:\n  redis: {image: redis}\n  watch: {image: redis, command: redis-sentinel /x.conf}\n" +
			"  none: {image: redis, command: redis-server --replicaof redis 6379 --replica-priority 0 --replica-priority 0}\n", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			f, p := failoverOf(t, tt.text, "")
			require.Equal(t, tt.replicas, f.Replicas)
			require.Equal(t, tt.never, f.Never)
			if tt.never {
				require.Contains(t, p.Remarks[len(p.Remarks)-1].String(), "replica-priority 0: no Sentinel promotes this replica")
			}
		})
	}
	r, err := ParseRedis("redis.conf", "replica-priority 0\n")
	require.NoError(t, err)
	require.Contains(t, r.Remarks[0].String(), "takeovers are tried as if another one were promoted")
	r, err = ParseRedis("redis.conf", "replica-priority 0\nslave-priority 5\nreplica-priority 10\n")
	require.NoError(t, err)
	require.Empty(t, r.Remarks)
}
