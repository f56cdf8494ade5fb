package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
	"example.org/lockproof/validate"
)

// configurations are what people run, made up after the pattern of packages' units, of
// compose files and of charts, each in a folder of testdata/configurations. want are the
// verdicts on a kill, a shutdown and a power loss, and after a bar those on takeovers:
// safe, unsafe or inconclusive, by their first letters.
var configurations = []struct {
	folder, what string
	flags        []string
	want         string
	exit         int
}{
	{"01-unit-snapshots", "a packaged unit, snapshots only", config, "u s u", 1},
	{"02-unit-everysec", "the same with `appendfsync everysec`", config, "s s u", 1},
	{"03-unit-always", "the same with `appendfsync always`", config, "s s s", 0},
	{"04-unit-sleeps-first", "no persistence, `ExecStartPre=/bin/sleep 35`", config, "s s s", 0},
	{"05-unit-restartsec", "no persistence, `RestartSec=35`", config, "s u u", 1},
	{"06-unit-restartsec-everysec", "everysec, `Restart=on-failure`, `RestartSec=60`", config, "s s u", 1},
	{"07-unit-times-out", "a sleep that `TimeoutStartSec` ends", config, "i i i", 4},
	{"08-unit-drop-in", "a drop-in with the sleep", config, "s s s", 0},
	{"09-unit-options-outrank", "`appendfsync always` on the command line, nothing in the file", config, "s s s", 0},
	{"10-unit-file-elsewhere", "a unit whose redis.conf is not at hand", nil, "i i i", 4},
	{"11-compose-defaults", "the image as it comes", nil, "u i u", 1},
	{"12-compose-always", "`appendfsync always` in the command", nil, "s s s", 0},
	{"13-compose-cache", "a cache: no persistence", nil, "u u u", 1},
	{"14-compose-sleeps-first", "a command that sleeps first", nil, "s s s", 0},
	{"15-compose-bind-mount", "a bind-mounted redis.conf", nil, "s s s", 0},
	{"16-compose-file-missing", "a bind mount of a file that is not there", nil, "i i i", 4},
	{"17-compose-config", "a redis.conf under `configs:`", nil, "s s u", 1},
	{"18-compose-no-restart", "nothing restarts it", nil, "u s u", 1},
	{"19-compose-cluster", "a node of a Redis Cluster", nil, "i i i", 4},
	{"20-compose-evicts", "`allkeys-lru` with a limit", nil, "s s s", 4},
	{"21-compose-unknown", "a directive that is not known", nil, "i i i", 4},
	{"22-compose-renamed", "`rename-command` of what no lock needs", nil, "s s s", 0},
	{"23-statefulset-everysec", "a StatefulSet with `--appendonly yes`", nil, "s s u", 1},
	{"24-deployment-no-volume", "a Deployment without a volume", nil, "u u u", 1},
	{"25-statefulset-configmap", "a StatefulSet, its redis.conf in a ConfigMap", nil, "s s s", 0},
	{"26-statefulset-no-configmap", "the same without the ConfigMap", nil, "i i i", 4},
	{"27-statefulset-probe", "a sleep that the liveness probe ends", nil, "i i i", 4},
	{"28-compose-sentinel", "master, replica and Sentinel", []string{"--service", "primary"}, "s s s | u u u", 1},
	{"29-compose-sentinel-wait", "the same, and the lock waits for the replica", []string{"--service", "primary", "--wait", "1"}, "s s s | s s s", 0},
	{"30-compose-min-replicas", "`min-replicas-to-write 1`, and a Sentinel that waits for a minute", []string{"--service", "primary"}, "s s s | s u s", 1},
	{"31-unit-on-abnormal", "no persistence, `Restart=on-abnormal`, `RestartSec=40`", config, "s u u", 1},
	{"32-unit-restartsec-infinity", "no persistence, `RestartSec=infinity`: whoever starts it does so at once", config, "u u u", 1},
	{"33-unit-shell-sleeps", "`ExecStart=/bin/sh -c \"sleep 31 && exec …\"`", config, "s s s", 0},
	{"34-unit-pre-shell-sleeps", "the sleep in a shell of `ExecStartPre`", config, "s s s", 0},
	{"35-unit-pre-script", "no persistence, and a script in `ExecStartPre` that nobody has read", config, "i i i", 4},
	{"36-unit-instance", "a template, `redis@.service`, with `%i` in the path", config, "s s s", 0},
	{"37-unit-instance-elsewhere", "the same without its redis.conf", nil, "i i i", 4},
	{"38-unit-runtime-directory", "`dir` is the unit's `RuntimeDirectory`, which goes with each stop", config, "u u u", 1},
	{"39-unit-runtime-preserved", "the same with `RuntimeDirectoryPreserve=yes`", config, "s s u", 1},
	{"40-unit-in-memory", "`WorkingDirectory=/dev/shm/redis` and no `dir`", config, "s s u", 1},
	{"41-unit-private-tmp", "`dir /tmp/redis` under `PrivateTmp`", config, "u u u", 1},
	{"42-unit-options-unread", "`$OPTIONS` from an `EnvironmentFile`", config, "i i i", 4},
	{"43-unit-options-read", "`$OPTIONS` from `Environment=`", config, "s s s", 0},
	{"44-unit-kill-signal", "snapshots, and `KillSignal=SIGKILL` in place of a clean stop", config, "u u u", 1},
	// Decided since "docker run --rm" is a recognised form: the container goes at each stop, and its data with it.
	{"45-unit-runs-docker", "`ExecStart=/usr/bin/docker run --rm …` without a volume", nil, "u u u", 1},
	{"46-quadlet", "a Podman quadlet", nil, "i i i", 4},
	{"47-unit-notify-times-out", "`Type=notify`, and `ExecStart` sleeps for longer than a start may take", config, "i i i", 4},
	{"48-unit-two-sleeps", "two sleeps of `ExecStartPre`, one with a `-`", config, "s s s", 0},
	{"49-unit-start-limit", "`Restart=on-failure`, `RestartSec=31` and a start limit", config, "s u u", 1},
	{"50-unit-config-set", "`ExecStartPost` changes the settings by CONFIG SET", config, "i i i", 4},
	{"51-unit-wipes", "`ExecStartPre` removes files", config, "i i i", 4},
	{"52-conf-crlf", "CRLF, quotes, and words in capitals", config, "s s s", 0},
	{"53-conf-twice", "`appendfsync always`, and further below `everysec`", config, "s s u", 1},
	{"54-conf-include", "an `include` below that says `appendfsync no`, by a relative name", config, "i i u", 1},
	{"55-conf-saves", "`save \"\"` and then a rule", config, "u s u", 1},
	{"56-conf-volatile", "`volatile-ttl` with a limit: locks have a TTL", config, "s s s", 4},
	{"57-conf-no-limit", "`allkeys-lfu` without a limit", config, "s s s", 0},
	{"58-conf-eval-renamed", "`rename-command EVAL \"\"`", config, "i i i", 4},
	{"59-conf-sigterm-nosave", "snapshots, `shutdown-on-sigterm nosave`", config, "u i u", 1},
	{"60-conf-sigterm-aof", "the same with an append-only file", config, "s s s", 0},
	{"61-conf-module", "`loadmodule`", config, "i i i", 4},
	{"62-conf-rewrite-snapshots", "`no-appendfsync-on-rewrite yes`, a percentage of 0, and snapshots", config, "s s s", 4},
	{"63-conf-rewrite-never", "the same without snapshots", config, "s s s", 0},
	{"64-conf-in-memory", "`dir /dev/shm/redis`", config, "s s u", 1},
	{"65-conf-tmp", "`dir /tmp/redis`", config, "s s i", 4},
	{"66-conf-of-config-get", "what CONFIG GET says, a line for each", config, "s s s", 0},
	{"67-conf-aof-off", "`appendfsync always` and no `appendonly`", config, "u s u", 1},
	{"68-conf-valkey", "Valkey's own words", config, "s s s", 0},
	{"69-compose-tmpfs", "`tmpfs: /data`", nil, "u u u", 1},
	{"70-compose-tmpfs-long", "a volume of `type: tmpfs`", nil, "u u u", 1},
	{"71-compose-shm", "`/dev/shm/lock:/data`", nil, "s s u", 1},
	{"72-compose-anchors", "anchors and merge keys", nil, "s s s", 0},
	// Decided since REDIS_ARGS and the variables of bitnami's image are recognised forms.
	{"73-compose-stack", "redis-stack and `REDIS_ARGS`", nil, "s s s", 0},
	{"74-compose-bitnami", "bitnami's image: `REDIS_AOF_ENABLED=no`, and no snapshots", nil, "u u u", 1},
	{"75-compose-dragonfly", "Dragonfly", nil, "i i i", 4},
	{"76-compose-keydb", "KeyDB", nil, "i i i", 4},
	{"77-compose-valkey", "Valkey, `appendfsync always`", nil, "s s s", 0},
	{"78-compose-variable", "`--appendfsync ${FSYNC:-always}`", nil, "i i i", 4},
	{"79-compose-password", "`--requirepass ${REDIS_PASSWORD}` in the command", nil, "s s s", 0},
	{"80-compose-extends", "`extends` a service of another file", nil, "i i i", 4},
	{"81-compose-nodes-differ", "two nodes, one of which has no `appendfsync always`", nil, "i i i", 4},
	{"82-compose-nodes-alike", "three nodes alike but for ports and volumes", nil, "s s s", 0},
	{"83-compose-exporter", "an exporter beside the server", nil, "s s s", 0},
	{"84-compose-on-failure", "`restart: on-failure:3`, everysec", nil, "s s u", 1},
	{"85-compose-deploy-delay", "no persistence, `deploy.restart_policy.delay: 40s`, which a swarm alone waits for", nil, "i u u", 1},
	{"86-compose-stop-signal", "snapshots, `stop_signal: SIGKILL`", nil, "u u u", 1},
	{"87-compose-grace", "snapshots, `stop_grace_period: 0s`", nil, "u u u", 1},
	{"88-compose-no-volume", "`appendfsync always`, and no volume", nil, "s i s", 4},
	{"89-compose-dir-elsewhere", "a volume at /data, and `--dir /var/lib/redis`", nil, "s i s", 4},
	{"90-compose-volume-tmpfs", "a named volume of tmpfs", nil, "i i u", 1},
	{"91-compose-config-external", "a redis.conf under `configs:` that is external", nil, "i i i", 4},
	{"92-compose-words-joined", "options with their values in one word each", nil, "s s s", 0},
	{"93-compose-save-bare", "`--save` without a value is `save \"\"`", nil, "u u u", 1},
	{"94-compose-tini", "`tini` in the entrypoint", nil, "s s s", 0},
	{"95-compose-script", "an entrypoint of one's own", config, "i i i", 4},
	{"96-compose-tmpfs-sleeps", "`tmpfs`, and a command that sleeps first", nil, "s s s", 0},
	{"97-compose-shell-password", "a shell for the sake of `$$REDIS_PASSWORD`", nil, "s s s", 0},
	{"98-statefulset-emptydir", "an `emptyDir`: gone with the pod", nil, "s u i", 1},
	{"99-statefulset-emptydir-memory", "an `emptyDir` of `medium: Memory`", nil, "s u u", 1},
	{"100-deployment-hostpath", "a Deployment with a `hostPath`, on any machine", nil, "s i i", 4},
	{"101-daemonset-hostpath", "a DaemonSet with a `hostPath`", nil, "s s s", 0},
	{"102-statefulset-mount-elsewhere", "the claim is mounted where the server does not write", nil, "u u u", 1},
	{"103-statefulset-dir", "the same with `--dir` there", nil, "s s s", 0},
	{"104-chart-start-script", "a chart's start script from a ConfigMap", nil, "i i i", 4},
	{"105-statefulset-words-joined", "options with their values in one word each", nil, "s s s", 0},
	{"106-statefulset-exporter", "an exporter's container comes first", nil, "s s s", 0},
	{"107-statefulset-subpath", "a redis.conf mounted by `subPath`", nil, "s s s", 0},
	{"108-statefulset-init-copies", "an init container copies the redis.conf", nil, "i i i", 4},
	{"109-statefulset-prestop", "snapshots, and a `preStop` of SHUTDOWN NOSAVE", nil, "u i u", 1},
	{"110-statefulset-grace", "snapshots, `terminationGracePeriodSeconds: 0`", nil, "u u u", 1},
	{"111-statefulset-env", "`$(FSYNC)` with its value in `env`", nil, "s s s", 0},
	{"112-statefulset-envfrom", "`$(FSYNC)` by `envFrom`", nil, "i i i", 4},
	{"113-statefulsets-differ", "two StatefulSets, one of which has no `appendfsync always`", nil, "i i i", 4},
	{"114-statefulset-startup", "a sleep that a `startupProbe` waits for", nil, "s s s", 0},
	{"115-statefulset-secret", "a redis.conf in a Secret", nil, "i i i", 4},
	{"116-statefulset-poststart", "a `postStart` that changes the settings by CONFIG SET", nil, "i i i", 4},
	{"117-chart-of-objects", "a Service, a PodDisruptionBudget and a StatefulSet by digest", nil, "s s s", 0},
	{"118-statefulset-ephemeral", "an `ephemeral` volume: gone with the pod", nil, "s u i", 1},
	{"119-unit-stop-post-rm", "`ExecStopPost` removes the append-only file", config, "i i i", 4},
	{"120-unit-start-post-script", "a script in `ExecStartPost` that nobody has read", config, "i i i", 4},
	{"121-unit-dynamic-user-tmp", "`dir /tmp/redis` under `DynamicUser`, which implies `PrivateTmp`", config, "u u u", 1},
	{"122-unit-prevent", "no persistence, `RestartSec=35`, and `RestartPreventExitStatus=SIGKILL`", config, "u u u", 1},
	{"123-unit-tmpfs-bind", "a `TemporaryFileSystem` with `BindPaths` to the data", config, "s s s", 0},
	{"124-unit-pre-comment-continued", "a comment in a command of several lines", config, "s s s", 0},
	{"125-unit-root-image", "`RootImage`", config, "i i i", 4},
	{"126-compose-build", "an image that is built here", nil, "i i i", 4},
	{"127-compose-dir-variable", "`--dir ${REDIS_DIR:-/tmp}`", nil, "i i i", 4},
	{"128-compose-volume-device", "a named volume of `/dev/shm` by `device`", nil, "s s u", 1},
	{"129-compose-tmpfs-appenddir", "a `tmpfs` with options at `/data/appendonlydir`", nil, "i i i", 4},
	// Decided since the flag's words are read as the image's entrypoint adds them: the last appendfsync counts.
	{"130-compose-valkey-flags", "Valkey, and `VALKEY_EXTRA_FLAGS=--appendfsync everysec`", nil, "s s u", 1},
	{"131-compose-hidden-replica", "a replica by a redis.conf of its own", []string{"--service", "primary"}, "s s s | u u u", 1},
	{"132-compose-shared-volume", "three nodes on one volume", nil, "i i i", 4},
	{"133-compose-replicas-one-volume", "`deploy.replicas: 3`, and one volume", nil, "i i i", 4},
	{"134-compose-poststart-list", "a `post_start` that changes the settings by CONFIG SET, a word on each line", nil, "i i i", 4},
	{"135-compose-poststart-piped", "the same by a pipe", nil, "i i i", 4},
	{"136-compose-prestop-wipes", "a `pre_stop` that removes the append-only file", nil, "s i s", 4},
	{"137-compose-one-line", "a file in one line, with two replicas, and the lock waits for one", []string{"--service", "lock", "--wait", "1"}, "s s s | u u u", 1},
	{"138-statefulset-init-wipes", "an init container removes the data", nil, "s i i", 4},
	{"139-statefulset-init-chown", "an init container of `chown`", nil, "s s s", 0},
	{"140-statefulset-poststart-lines", "a `postStart` that changes the settings by CONFIG SET, a word on each line", nil, "i i i", 4},
	{"141-statefulset-prestop-lines", "snapshots, and a `preStop` of SHUTDOWN NOSAVE, a word on each line", nil, "u i u", 1},
	{"142-statefulset-prestop-wipes", "a `preStop` that removes the data", nil, "s i s", 4},
	{"143-statefulset-two-servers", "two servers in one script", nil, "i i i", 4},
	{"144-statefulset-csi-inline", "an inline `csi` volume, made with the pod", nil, "s i i", 4},
	{"145-statefulset-retention", "`whenScaled: Delete` for its claims", nil, "s i s", 4},
	{"146-deployment-subpathexpr", "a Deployment with `subPathExpr: $(POD_NAME)`", nil, "s i i", 4},
	{"147-deployment-three-one-claim", "a Deployment of three pods on one claim", nil, "i i i", 4},
	{"148-statefulset-namespaces", "two ConfigMaps of one name, in two namespaces", nil, "s s u", 1},
	{"149-chart-rendered", "a rendered chart, with a document of comments between others", nil, "s s u", 1},
	{"150-statefulset-appenddir-mount", "an `emptyDir` at `/data/appendonlydir`", nil, "i i i", 4},
	{"151-statefulset-list", "a List as `kubectl get -o yaml` prints it", nil, "s s u", 1},
	{"152-statefulset-list-nested", "a List in a List", nil, "s s u", 1},
	{"153-statefulset-list-json", "a JSON List", nil, "s s u", 1},
	{"154-statefulset-list-json-nested", "a List in a JSON List, its redis.conf in a ConfigMap", nil, "u u u", 1},
}

// config is given where the unit's redis.conf lies beside it.
var config = []string{"--config", "redis.conf"}

// TestConfigurations judges each as an operator does, with locks of 30 s.
func TestConfigurations(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, c := range configurations {
		t.Run(c.folder, func(t *testing.T) {
			t.Chdir(filepath.Join(root, "cmd/lockproof/testdata/configurations", c.folder))
			got, exit := answerOf(t, c.flags)
			require.Equal(t, c.want, got)
			require.Equal(t, c.exit, exit)
		})
	}
}

// policyHere are the flags for the policy of the folder at hand, which a redis.conf may lack.
func policyHere(t *testing.T) []string {
	t.Helper()
	for _, pattern := range []string{"redis*.service", "redis.container", "compose.yaml", "workload.yaml"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		if len(found) > 0 {
			return []string{"--restart-policy", found[0]}
		}
	}
	return nil
}

// answerOf runs validate in the folder at hand, and gives the verdicts as in want.
func answerOf(t *testing.T, flags []string) (verdicts string, exit int) {
	t.Helper()
	p, out := fake(expected), t.TempDir()
	p.suite, p.screen.Width = predicted, 100
	policy := policyHere(t)
	if slices.ContainsFunc(flags, exists) {
		policy = nil
	}
	got := p.try(slices.Concat([]string{"validate", "--ttl", "30s", "--trials", "2", "--out", out}, policy, flags)...)
	require.Empty(t, got.err)
	text, _, _ := strings.Cut(got.out, "\nWritten to ")
	require.LessOrEqual(t, strings.Count(text, "\n")+1, 15, "an operator reads the answer once:\n%s", got.out)
	data, err := os.ReadFile(filepath.Join(out, reports.ValidationFile))
	require.NoError(t, err)
	var answer struct {
		Rows, Takeovers []struct{ Verdict string }
	}
	require.NoError(t, json.Unmarshal(data, &answer))
	var letters []string
	for _, r := range answer.Rows {
		letters = append(letters, r.Verdict[:1])
	}
	if len(answer.Takeovers) > 0 {
		letters = append(letters, "|")
	}
	for _, r := range answer.Takeovers {
		letters = append(letters, r.Verdict[:1])
	}
	return strings.Join(letters, " "), got.code
}

// predicted is the harness without trials of crashes: validate's own tests hold what it says against them. Takeovers
// are tried, once for each scenario.
func predicted(ctx context.Context, jobs []suite.Job, o suite.Options, observe func(suite.Result)) (all []suite.Result, err error) {
	for _, job := range jobs {
		if job.Scenario.Nodes == nil || len(job.Scenario.Replicas) == 0 {
			all = append(all, suite.Result{Scenario: job.Scenario.Name, Results: []checker.Result{{Property: checker.MutualExclusion,
				Verdict: validate.Predicted(job.Scenario.Name)}}})
			observe(all[len(all)-1])
			continue
		}
		what, err := json.Marshal(job)
		if err != nil {
			return nil, err
		}
		key := fmt.Sprintf("%s %d %d %s", what, o.Seed, o.Trials, o.Cluster)
		found, known := tried.Load(key)
		if !known {
			if found, err = suite.Run(ctx, []suite.Job{job}, o, observe); err != nil {
				return nil, err
			}
			tried.Store(key, found)
		}
		all = append(all, found.([]suite.Result)...)
	}
	return all, nil
}

// tried holds what trials gave that several configurations have in common.
var tried sync.Map

// exists reports whether a flag is the name of a file that is there.
func exists(flag string) bool {
	info, err := os.Stat(flag)
	return err == nil && info.Mode().IsRegular() && flag != "redis.conf"
}
