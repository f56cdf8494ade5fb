package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const configMap = "\n---\nkind: ConfigMap\nmetadata: {name: conf}\ndata:\n  redis.conf: |\n    appendonly yes\n"

func pod(mount, volume string) string {
	return "kind: Pod\nspec:\n  containers:\n  - {name: redis, image: redis, command: [redis-server, /etc/redis/redis.conf], volumeMounts: [" +
		mount + "]}\n  volumes: [" + volume + "]"
}

func service(more string) string {
	return "services: {redis: {image: redis, command: redis-server conf/redis.conf, " + more + "}}"
}

// The redis.conf that a server's command names is read where it stands; where it cannot
// be, that is said.
func TestTheFileThatTheCommandNames(t *testing.T) {
	tests := []struct {
		name, file, text string
		unread           string // "": it was read, and says appendonly yes
	}{
		{"a ConfigMap", "pod.yaml", pod("{name: c, mountPath: /etc/redis}", "{name: c, configMap: {name: conf}}") + configMap, ""},
		{"one key of it", "pod.yaml", pod("{name: c, mountPath: /etc/redis/redis.conf, subPath: redis.conf}",
			"{name: c, configMap: {name: conf}}") + configMap, ""},
		{"a key under another name", "pod.yaml", pod("{name: c, mountPath: /etc/redis}",
			"{name: c, configMap: {name: conf, items: [{key: own, path: redis.conf}]}}") +
			"\n---\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {own: appendonly yes}", ""},
		{"a ConfigMap without it", "pod.yaml", pod("{name: c, mountPath: /etc}", "{name: c, configMap: {name: conf}}") + configMap,
			"the server is started with /etc/redis/redis.conf, which was not read (the ConfigMap conf has no redis/redis.conf): " +
				"give it with --config"},
		{"a ConfigMap that is elsewhere", "pod.yaml", pod("{name: c, mountPath: /etc/redis}", "{name: c, configMap: {name: conf}}"),
			"the server is started with /etc/redis/redis.conf, which was not read (the ConfigMap conf is not in this file): " +
				"give it with --config"},
		{"the image's own", "pod.yaml", pod("", ""),
			"the server is started with /etc/redis/redis.conf, which was not read: give it with --config"},
		{"a bind mount", "compose.yaml", service("volumes: [./redis.conf:/data/conf/redis.conf:ro]"), ""},
		{"a bind mount of its folder", "compose.yaml", service("volumes: [{type: bind, source: ., target: /data/conf}]"), ""},
		{"a folder that a service works in", "compose.yaml", service("working_dir: /srv, volumes: [.:/srv/conf]"), ""},
		{"a config", "compose.yaml", service("configs: [{source: own, target: /data/conf/redis.conf}]") +
			"\nconfigs: {own: {file: redis.conf}}", ""},
		{"a config's own text", "compose.yaml", service("configs: [{source: own, target: /data/conf/redis.conf}]") +
			"\nconfigs: {own: {content: appendonly yes}}", ""},
		{"a file that is not there", "compose.yaml", service("volumes: [./none.conf:/data/conf/redis.conf]"),
			"the server is started with /data/conf/redis.conf, which was not read (there is no FOLDER/none.conf): give it with --config"},
		{"a variable", "compose.yaml", service("volumes: [\"${HOME}/redis.conf:/data/conf/redis.conf\"]"),
			"the server is started with /data/conf/redis.conf, which was not read (it is ${HOME}/redis.conf, which depends on who " +
				"starts it): give it with --config"},
		{"a named volume", "compose.yaml", service("volumes: [data:/data]"),
			"the server is started with /data/conf/redis.conf, which was not read: give it with --config"},
		{"a unit from elsewhere", "redis.service", "[Service]\nExecStart=/usr/bin/redis-server /etc/redis.conf",
			"the server is started with /etc/redis.conf, which was not read: give it with --config"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			folder := t.TempDir()
			file := filepath.Join(folder, tt.file)
			require.NoError(t, os.WriteFile(file, []byte(tt.text), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(folder, "redis.conf"), []byte("appendonly yes"), 0o600))
			p, err := Disk.ReadPolicy(file, "")
			require.NoError(t, err)
			s, err := Disk.ReadSettings("", []string{"appendfsync always"}, p)
			require.NoError(t, err)
			require.Equal(t, "always", s.AppendFsync, "a line that is given counts in any case")
			require.Equal(t, replaceFolder(tt.unread, folder), s.Unread)
			require.Equal(t, tt.unread == "", s.AppendOnly)
			require.Equal(t, tt.unread != "", len(s.Remarks) == 1 && len(s.Remarks[0].Doubts) == len(Crashes))

			given, err := Disk.ReadSettings(filepath.Join(folder, "redis.conf"), nil, p)
			require.NoError(t, err)
			require.Empty(t, given.Unread)
			require.True(t, given.AppendOnly, "the file that is given stands for it")
		})
	}
}

func replaceFolder(text, folder string) string {
	if before, after, found := strings.Cut(text, "FOLDER"); found {
		return before + folder + after
	}
	return text
}

// What a ConfigMap includes is in its container, and not read here.
func TestAConfigMapIncludesNothingFromHere(t *testing.T) {
	p, err := ParsePolicy("pod.yaml", []byte(pod("{name: c, mountPath: /etc/redis}", "{name: c, configMap: {name: conf}}")+
		"\n---\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {redis.conf: include /etc/passwd}"), "")
	require.NoError(t, err)
	s, err := Disk.ReadSettings("", nil, p)
	require.NoError(t, err)
	require.Len(t, s.Unknown, 1)
	require.Equal(t, "include", s.Unknown[0].Name)
}

// A unit that is in use here names files of this machine.
func TestAUnitInUseNamesFilesOfThisMachine(t *testing.T) {
	for unit, want := range map[string]string{"/etc/systemd/system/redis.service": "/etc/redis.conf",
		"/lib/systemd/system/redis.service": "/etc/redis.conf", "/home/me/redis.service": ""} {
		p, err := ParsePolicy(unit, []byte("[Service]\nExecStart=/usr/bin/redis-server /etc/redis.conf"), "")
		require.NoError(t, err)
		require.Equal(t, want, p.Config.File)
	}
}

// A sentinel or a replica anywhere puts every crash in doubt: never a silent "safe".
func TestFailoverIsSeen(t *testing.T) {
	const compose = "services:\n  redis: {image: redis, command: redis-server --appendonly yes}\n"
	for text, line := range map[string]int{
		compose: 0,
		compose + "  # a sentinel would be nice\n":                                         0,
		compose + "  worker: {image: mine, replicas: 3} # replicaof nobody\n":              0,
		compose + "  other: {image: redis, command: redis-server --replicaof no one}\n":    0,
		compose + "  watch: {image: redis, command: redis-sentinel /s.conf}\n":             3,
		compose + "  watch: {image: redis, command: redis-server /s.conf --sentinel}\n":    3,
		compose + "  watch: {image: bitnami/redis-sentinel}\n":                             3,
		compose + "  other: {image: redis, command: redis-server --replicaof redis 1}\n":   3,
		compose + "  other: {image: redis, command: redis-server --slaveof redis 1}\n":     3,
		compose + "  other: {image: redis, environment: [REDIS_REPLICATION_MODE=slave]}\n": 3,
	} {
		p, err := ParsePolicy("compose.yaml", []byte(text), "redis")
		require.NoError(t, err, text)
		found := 0
		for _, r := range p.Remarks {
			if len(r.Doubts) == len(Crashes) {
				found = r.Place.Line
			}
		}
		require.Equal(t, line, found, text)
	}
	for _, line := range []string{"replicaof 10.0.0.1 6379", "sentinel monitor m 10.0.0.1 6379 2"} {
		s, err := ParseRedis("redis.conf", "appendonly yes\n"+line)
		require.NoError(t, err)
		require.Len(t, s.Remarks, 1, line)
		require.Equal(t, Crashes, s.Remarks[0].Doubts)
	}
}

// Each renamed command adds something; one that no lock needs does not.
func TestRenamedCommands(t *testing.T) {
	for text, doubts := range map[string][]Crash{
		"rename-command FLUSHALL \"\"":                                 nil,
		"rename-command CONFIG secret\nrename-command DEBUG \"\"":      nil,
		"rename-command EVAL \"\"\nrename-command FLUSHALL \"\"":       Crashes,
		"rename-command set other":                                     Crashes,
		"rename-command SHUTDOWN \"\"\nrename-command FLUSHALL secret": {Shutdown},
	} {
		s, err := ParseRedis("redis.conf", text)
		require.NoError(t, err)
		var found []Crash
		for _, r := range s.Remarks {
			found = append(found, r.Doubts...)
			require.NotContains(t, r.What, "secret")
		}
		require.Equal(t, doubts, found, text)
	}
}

func TestHowLongAUnitSleeps(t *testing.T) {
	const s = time.Second
	for text, want := range map[string]struct {
		kill, boot time.Duration
		doubted    bool
	}{
		"ExecStart=/bin/sh -c \"sleep 31 && exec redis-server\"\nRestart=always\nRestartSec=0":                       {31 * s, 31 * s, false},
		"ExecStart=/bin/sh -c 'sleep 31; exec redis-server'\nExecStartPre=/bin/sleep 2\nRestart=no":                  {33 * s, 33 * s, false},
		"ExecStart=/bin/sh -c \"sleep 100 && exec redis-server\"":                                                    {100 * s, 100 * s, false},
		"Type=notify\nExecStart=/bin/sh -c \"sleep 100 && exec redis-server\"":                                       {100 * s, 100 * s, true},
		"ExecStart=/usr/bin/redis-server\nExecStartPre=/bin/sleep 31\nTimeoutSec=20":                                 {31 * s, 31 * s, true},
		"ExecStart=/usr/bin/redis-server\nExecStartPre=/bin/sleep 31\nTimeoutSec=20\nTimeoutStartSec=60":             {31 * s, 31 * s, false},
		"ExecStart=/usr/bin/redis-server\nExecStartPre=/bin/sleep 31\nTimeoutStartSec=60\nTimeoutSec=20\nRestart=no": {31 * s, 31 * s, true},
	} {
		p, err := ParsePolicy("redis.service", []byte("[Service]\n"+text), "")
		require.NoError(t, err)
		require.Equal(t, want.kill, p.Returns[Kill].After, text)
		require.Equal(t, want.boot, p.Returns[PowerLoss].After, text)
		doubted := false
		for _, r := range p.Remarks {
			doubted = doubted || len(r.Doubts) > 0
		}
		require.Equal(t, want.doubted, doubted, text)
	}
}

// A probe that kills a container which sleeps keeps the server from ever starting.
func TestAProbeThatDoesNotWait(t *testing.T) {
	for probes, doubted := range map[string]bool{
		"":                  false,
		"livenessProbe: {}": true, // 30 s
		"livenessProbe: {initialDelaySeconds: 15}":                                            false,
		"livenessProbe: {periodSeconds: 5}":                                                   true,
		"livenessProbe: {periodSeconds: 5}, startupProbe: {failureThreshold: 10}":             false,
		"livenessProbe: {initialDelaySeconds: 60}, startupProbe: {failureThreshold: 3}":       true,
		"livenessProbe: {failureThreshold: 4}, readinessProbe: {failureThreshold: 1}":         false,
		"livenessProbe: {periodSeconds: five}, startupProbe: {initialDelaySeconds: \"1000\"}": false,
	} {
		p, err := ParsePolicy("pod.yaml", []byte("kind: Pod\nspec:\n  volumes: [{hostPath: /x}]\n  containers:\n"+
			"  - {name: redis, command: [sh, -c, sleep 31 && exec redis-server], "+probes+"}"), "")
		require.NoError(t, err)
		found := false
		for _, r := range p.Remarks {
			found = found || len(r.Doubts) > 0
		}
		require.Equal(t, doubted, found, probes)
	}
}
