package settings

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What of a server's settings cannot be read puts all in doubt, and says why.
func TestWhatIsNotReadIsSaid(t *testing.T) {
	service := func(more string) string { return "services: {lock: {" + more + "}}" }
	container := func(more string) string { return "kind: Pod\nspec: {containers: [{name: redis, " + more + "}]}" }
	const official, image, variable = "image: 'redis:7', ", "starts its server with is not known", "has a variable"
	for _, tt := range []struct{ file, text, why string }{
		{"x.yaml", service(official), ""},
		{"x.yaml", service("image: registry.example/docker/library/redis:7"), ""},
		{"x.yaml", service("image: 'valkey/valkey:8'"), ""},
		{"x.yaml", service("image: bitnami/redis"), image},
		{"x.yaml", service("image: redis/redis-stack, command: redis-server --appendonly yes"), image},
		{"x.yaml", service("build: ."), image},
		{"x.yaml", service("image: bitnami/redis, entrypoint: [redis-server, --appendonly, 'yes']"), ""},
		{"x.yaml", service(official + "entrypoint: /start.sh"), "the command start.sh (x.yaml) is not known"},
		{"x.yaml", service(official + "command: redis-server --appendonly $AOF"), variable},
		{"x.yaml", service(official + "command: 'redis-server --appendonly ${AOF:-yes}'"), variable},
		{"x.yaml", service(official + "command: [redis-server, '--appendonly ${AOF}']"), variable},
		{"x.yaml", service(official + "command: [redis-server, --port, '${PORT:-6379}', --requirepass, '${PASSWORD:?set it}']"), ""},
		{"x.yaml", service(official + "command: 'redis-server $OPTIONS'"), variable},
		{"x.yaml", service(official + "command: 'redis-server --port 1 $OPTIONS'"), variable},
		{"x.yaml", service(official + "extends: {file: a.yaml, service: b}"), "extends another service"},
		{"x.yaml", container(official), ""},
		{"x.yaml", container("image: mine/redis"), image},
		{"x.yaml", container(official + "args: [--appendfsync, $(A)], env: [{name: A, value: always}]"), ""},
		{"x.yaml", container(official + "args: [--appendfsync, $(A)], env: [{name: B, value: always}, {name: A, valueFrom: {}}]"), variable},
		{"x.yaml", container(official + "args: [--requirepass, $(A)], env: [{name: A, valueFrom: {}}]"), ""},
		{"x.service", "[Service]\nExecStart=/usr/bin/redis-server", ""},
		{"x.service", "[Service]\nRestart=always", "no ExecStart here"},
		{"x.service", "[Container]\nImage=redis\n[Service]\nRestart=always", "quadlet"},
		{"x.service", "[Service]\nExecStart=/usr/bin/podman run redis", "the command podman (x.service:2) is not known"},
		{"x.service", "[Service]\nExecStart=/usr/bin/redis-server --port 1 $A", variable},
		{"x.service", "[Service]\nEnvironment=A=--appendonly\\x20yes\nExecStart=/usr/bin/redis-server $B", variable},
		{"x.service", "[Service]\nEnvironment=\"A=--appendonly yes\"\nExecStart=/usr/bin/redis-server $A", ""},
		{"x.service", "[Service]\nEnvironment=A=yes\nExecStart=/usr/bin/redis-server --appendonly ${A}", ""},
		{"x.service", "[Service]\nEnvironment=A=yes\nEnvironmentFile=-/a\nExecStart=/usr/bin/redis-server --appendonly ${A}", variable},
		{"x.service", "[Service]\nExecStart=/usr/bin/redis-server\nExecStartPre=/opt/wait", "is not a sleep and not known"},
	} {
		p, err := ParsePolicy(tt.file, []byte(tt.text), "")
		require.NoError(t, err, tt.text)
		s, err := Disk.ReadSettings("", nil, p)
		require.NoError(t, err, tt.text)
		require.Equal(t, tt.why == "", s.Unread == "", "%s: %s", tt.text, s.Unread)
		require.Contains(t, s.Unread, tt.why, tt.text)
		if tt.why != "" {
			last := s.Remarks[len(s.Remarks)-1]
			require.Equal(t, s.Unread, last.What)
			require.Equal(t, Crashes, last.Doubts)
			require.Equal(t, tt.file, last.Place.File, tt.text)
		}
	}
	p, err := ParsePolicy("x.service", []byte("[Service]\nRestart=always"), "")
	require.NoError(t, err)
	s, err := Files{"x.conf": ""}.ReadSettings("x.conf", nil, p)
	require.NoError(t, err)
	require.Empty(t, s.Unread, "the file that is given stands for it")
}

// What a unit's command says once its instance and its variables are in their places.
func TestCommandsOfUnits(t *testing.T) {
	for _, tt := range []struct{ file, lines, config, options string }{
		{"redis@lock.service", "ExecStart=redis-server /etc/%p/%i.conf", "/etc/redis/lock.conf", ""},
		{"redis@lock.service", "ExecStart=redis-server /etc/%I%%.conf", "/etc/lock%.conf", ""},
		{"redis@.service", "ExecStart=redis-server /etc/%i.conf", "/etc/%i.conf", ""},
		{"redis.service", "ExecStart=redis-server /etc/%i.conf", "/etc/%i.conf", ""},
		{"redis.service", "Environment=A=1 B=2\nEnvironment=\"C=--save 60 1\"\nExecStart=redis-server /r.conf --port ${A}${B} $C", "/r.conf",
			"port 12,save 60 1"},
		{"redis.service", "Environment=A=1\nExecStart=redis-server /r.conf --requirepass $$A", "/r.conf", "requirepass $$A"},
	} {
		p, err := ParsePolicy(tt.file, []byte("[Service]\n"+tt.lines), "")
		require.NoError(t, err)
		require.Equal(t, tt.config, p.Config.Path, tt.lines)
		options := ""
		for i, d := range p.Overrides {
			if i > 0 {
				options += ","
			}
			options += d.String()
		}
		require.Equal(t, tt.options, options, tt.lines)
	}
}

func TestWhatComesBeforeAStart(t *testing.T) {
	for lines, want := range map[string]struct {
		sleep  time.Duration
		unsure bool
	}{
		"ExecStartPre=/bin/sh -c 'sleep 35'":                          {35 * time.Second, false},
		"ExecStartPre=-/usr/bin/bash -c \" sleep 1m ; \"":             {time.Minute, false},
		"ExecStartPre=/bin/sh -c 'sleep 35; rm -r /x'":                {0, true},
		"ExecStartPre=/bin/sh -e 'sleep 35'":                          {0, true},
		"ExecStartPre=/bin/sh -c more 'sleep 35'":                     {0, true},
		"ExecStartPre=/usr/bin/mkdir -p /run/x\nExecStartPre=sleep 3": {3 * time.Second, false},
		"ExecStartPre=/bin/rm -f /x\nExecStartPre=sleep 3":            {3 * time.Second, true},
		"ExecStartPre=sh": {0, true},
	} {
		p := unitOf(t, "ExecStart=/usr/bin/redis-server\n"+lines)
		require.Equal(t, want.sleep, p.Returns[Kill].After, lines)
		require.Equal(t, want.unsure, p.Returns[Shutdown].Unsure != "", lines)
		require.Equal(t, want.unsure, p.unread != "", lines)
	}
	p := unitOf(t, "Restart=always\nRestartSec=infinity")
	require.Zero(t, p.Returns[Kill].After)
	require.Contains(t, p.Returns[Kill].Why, "infinity")
}

// Of several nodes one is judged, and the others have to be like it.
func TestNodesThatAreNotAlike(t *testing.T) {
	node := func(more string) string {
		return "{image: redis, command: redis-server --appendonly yes, " + more + "}"
	}
	for more, alike := range map[string]bool{
		node(""): true,
		node("container_name: b, ports: ['1:1'], environment: {A: b}"):     true,
		"{image: redis, command: redis-server --port 7 --appendonly yes}":  true,
		"{image: 'redis:6', command: [redis-server, --appendonly, 'yes']}": true,
		"{image: redis, command: redis-server --appendonly no}":            false,
		"{image: redis, command: redis-server --appendonly yes --dir /x}":  false,
		"{image: redis, command: redis-server /r.conf --appendonly yes}":   false,
		"{image: mine/redis, command: redis-server --appendonly yes}":      false,
		node("restart: always"):                                                  false,
		node("tmpfs: /data"):                                                     false,
		node("volumes: ['x:/data']"):                                             false,
		node("stop_signal: SIGKILL"):                                             false,
		node("restart: sometimes"):                                               false, // nor can it be read
		"{image: redis, command: redis-server --replicaof a 6379}":               true,
		"{image: redis, command: redis-sentinel /s.conf}":                        true,
		"{image: oliver006/redis_exporter}":                                      true,
		"{image: redis, entrypoint: [redis-cli], command: '--cluster create a'}": true,
	} {
		p, err := ParsePolicy("x.yaml", []byte("services: {a: "+node("")+", redis-b: "+more+"}"), "")
		require.NoError(t, err)
		require.Equal(t, "a", p.Service)
		found := false
		for _, r := range p.Remarks {
			found = found || len(r.Doubts) == len(Crashes) && r.What == "redis-b is not set as a, which is judged: judge each with --service"
		}
		require.Equal(t, alike, !found, more)
		p, err = ParsePolicy("x.yaml", []byte("services: {a: "+node("")+", redis-b: "+node("restart: always")+"}"), "a")
		require.NoError(t, err)
		require.Empty(t, p.Remarks, "it was named")
	}
	pods := func(b string) string {
		return "kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: redis-metrics, image: x}, {name: redis, image: redis}]}\n" +
			"---\nkind: Pod\nmetadata: {name: b}\nspec: {containers: [{name: redis, image: redis, " + b + "}]}"
	}
	for b, alike := range map[string]bool{"": true, "args: [--port, '1']": true, "args: [--save, '']": false, "args: [--replicaof, a, '1']": true,
		"args: 3": false} {
		p, err := ParsePolicy("x.yaml", []byte(pods(b)), "")
		require.NoError(t, err)
		require.Equal(t, "redis", p.Service)
		require.Equal(t, alike, len(doubts(p)) == 0 || b == "args: [--replicaof, a, '1']", b)
	}
}

// Settings that two nodes' files say.
func TestNodesWithFiles(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "a.conf", "appendonly yes\nport 1\n")
	write(t, folder, "b.conf", "appendonly yes\nport 2\n")
	write(t, folder, "c.conf", "appendonly no\n")
	for other, alike := range map[string]bool{"b": true, "c": false, "none": false} {
		node := func(name string) string {
			return "{image: redis, command: redis-server /r.conf, volumes: ['./" + name + ".conf:/r.conf', 'x:/data']}"
		}
		file := write(t, folder, "compose.yaml", "services: {redis-a: "+node("a")+", redis-b: "+node(other)+"}")
		p, err := Disk.ReadPolicy(file, "")
		require.NoError(t, err)
		require.Equal(t, alike, len(doubts(p)) == 0, other)
	}
}

// docker compose reads an override beside the file.
func TestAnOverrideBesideTheFile(t *testing.T) {
	const text = "services: {lock: {image: redis}}"
	for _, tt := range []struct {
		file, beside string
		counts       bool
	}{
		{"compose.yaml", "compose.override.yaml", true}, {"docker-compose.yml", "docker-compose.override.yml", true},
		{"compose.yml", "compose.override.yaml", true}, {"other.yaml", "compose.override.yaml", false},
		{"compose.yaml", "docker-compose.override.yml", false},
	} {
		folder := t.TempDir()
		file := write(t, folder, tt.file, text)
		write(t, folder, tt.beside, text)
		p, err := Disk.ReadPolicy(file, "")
		require.NoError(t, err)
		require.Equal(t, tt.counts, p.unread != "", tt.file)
		if tt.counts {
			require.Equal(t, filepath.Join(folder, tt.beside), p.unreadAt.File)
		}
		require.NoError(t, os.Remove(filepath.Join(folder, tt.beside)))
	}
}

// CONFIG SET in a hook, a script or a sidecar.
func TestSettingsThatAreChangedWhileTheServerRuns(t *testing.T) {
	for line, doubted := range map[string]bool{
		"ExecStartPost=/usr/bin/redis-cli config set appendonly no":       true,
		"ExecStartPost=/usr/bin/valkey-cli -p 1 CONFIG SET appendonly no": true,
		"# redis-cli config set appendonly no":                            false,
		"ExecStartPost=/usr/bin/redis-cli config get appendonly":          false,
		"ExecStartPost=/usr/bin/redis-cli ping":                           false,
	} {
		p := unitOf(t, "ExecStart=/usr/bin/redis-server\n"+line)
		require.Equal(t, doubted, len(doubts(p)) == len(Crashes), line)
	}
	p, err := ParsePolicy("x.yaml", []byte("kind: Pod\nspec:\n  containers:\n  - name: redis\n    image: redis\n    lifecycle:\n"+
		"      postStart: {exec: {command: [redis-cli, config, set, appendonly, 'no']}}\n"), "")
	require.NoError(t, err)
	require.Equal(t, Crashes, doubts(p))
	require.Equal(t, 7, p.Remarks[len(p.Remarks)-1].Place.Line)
}

// A line that is given is named, and what may be a secret of it is not.
func TestLinesThatAreGivenAreNamed(t *testing.T) {
	for line, want := range map[string]string{
		"appendonly yes": `--set "appendonly yes"`, " dir /x ": `--set " dir /x "`, "masterauth x": `--set "masterauth ..."`,
		"requirpass x": `--set "requirpass ..."`, "requirpass": `--set "requirpass"`, "loadmodule /x": `--set "loadmodule /x"`,
	} {
		require.Equal(t, want, given(line).File)
	}
}
