package deploy

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/validate/settings"
)

// ordinary are deployments without a broken link.
var ordinary = map[string]string{"compose.yaml": `
services:
  lock:
    image: redis:7
    command: redis-server --appendonly yes --appendfsync always
    volumes: [{type: volume, source: data, target: /data, volume: {nocopy: true}}]
    deploy: {mode: replicated, restart_policy: {condition: any}}
    healthcheck: {test: [CMD, redis-cli, ping]}
    ulimits: {nofile: {soft: 1, hard: 2}}
volumes: {data: {driver: local}}
`, "objects.yaml": `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: lock}
spec:
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain}
  template:
    spec:
      securityContext: {fsGroup: 999, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: redis
          image: redis:7
          args: [--appendonly, "yes", --appendfsync, always]
          lifecycle: {preStop: {sleep: {seconds: 5}}}
          livenessProbe: {exec: {command: [redis-cli, ping]}}
          securityContext: {readOnlyRootFilesystem: true}
          volumeMounts: [{name: data, mountPath: /data}]
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]
`}

// aside are the mappings that neither place data or settings, nor run anything.
var aside = regexp.MustCompile(`^$|^/volumes$|/metadata$|/template$|/exec$|/nofile$|/sleep$`)

func TestRead_UnknownKey_BreaksALink(t *testing.T) {
	for name, text := range ordinary {
		var whole any
		require.NoError(t, yaml.Unmarshal([]byte(text), &whole))
		broken := func() bool {
			file := filepath.Join(t.TempDir(), name)
			data, err := json.Marshal(whole)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, data, 0o600))
			d, err := Read([]string{file}, Options{})
			require.NoError(t, err)
			return len(d.Server.Broken(settings.Kill, false)) > 0
		}
		require.False(t, broken(), name)
		var visit func(path string, value any)
		visit = func(path string, value any) {
			for i, item := range list(value) {
				visit(fmt.Sprintf("%s/%d", path, i), item)
			}
			mapping := asMap(value)
			for _, key := range sortedKeys(mapping) {
				visit(path+"/"+key, mapping[key])
			}
			if mapping != nil && !aside.MatchString(path) {
				mapping["unknown"] = map[string]any{"a": "b"}
				require.True(t, broken(), "%s: an unknown key in %s", name, path)
				delete(mapping, "unknown")
			}
		}
		visit("", whole)
	}
}

func TestRead_UnknownProgramBesideAServer_JudgesTheServer(t *testing.T) {
	written(t, map[string]string{"compose.yaml": "services:\n  app: {image: my-redis-app}\n" +
		"  lock: {image: redis:7, command: --appendonly yes}\n"})
	d, err := Read([]string{"compose.yaml"}, Options{})
	require.NoError(t, err)
	require.Equal(t, "lock", d.Server.Name)
	require.Contains(t, fmt.Sprint(d.Server.Broken(settings.Kill, false)), "app may be a server too, and what it runs is "+
		"not known: if the locks are on lock, say --service lock")
}

func TestRead_ZeroByte_IsReportedOnItsLine(t *testing.T) {
	written(t, map[string]string{"compose.yaml": "services:\n  lock:\x00 {image: redis}\n"})
	_, err := Read([]string{"compose.yaml"}, Options{})
	require.ErrorContains(t, err, "compose.yaml:2")
}

// What the arguments of an unknown program mean is not known either.
func TestRead_UnknownProgram_StandsAlone(t *testing.T) {
	written(t, map[string]string{"redis.conf": "daemonize yes\n", "redis.service": "[Service]\nType=forking\n" +
		"ExecStart=/usr/local/redis/bin/redis-server /usr/local/redis/redis.conf\n"})
	d, err := Read([]string{"redis.service"}, Options{Config: "redis.conf"})
	require.NoError(t, err)
	broken := d.Server.Broken(settings.Kill, false)
	require.Len(t, broken, 1, "%v", broken)
	require.Equal(t, Program, broken[0].Name)
}

func TestJudgesTakeovers_DelayOfASentinel_IsAnAssumption(t *testing.T) {
	for _, tt := range []struct {
		failover Failover
		assumed  bool
	}{{Failover{}, false}, {Failover{After: time.Minute}, true}, {Failover{Never: true}, true}} {
		s := &Server{}
		s.JudgesTakeovers(&tt.failover)
		require.Equal(t, tt.assumed, strings.Contains(fmt.Sprint(s.Assumptions()), "nothing promotes a replica sooner"))
	}
}
