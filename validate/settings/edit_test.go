package settings

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// edited makes a change in files of a folder at hand, of which "policy" names one, and gives
// the texts that are new.
func edited(t *testing.T, files map[string]string, policy string, change func(Files, *Redis, Policy) (Files, error)) (Files, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	var p Policy
	var err error
	config := ""
	if policy != "" {
		p, err = Disk.ReadPolicy(policy, "")
		require.NoError(t, err)
	}
	if _, given := files["redis.conf"]; given && (p.Config == nil || p.Kind == Systemd) {
		config = "redis.conf"
	}
	s, err := Disk.ReadSettings(config, nil, p)
	require.NoError(t, err)
	return change(Disk, s, p)
}

func line(text string) func(Files, *Redis, Policy) (Files, error) {
	return func(f Files, s *Redis, p Policy) (Files, error) { return f.SetLine(text, s, p) }
}

func sleeps(d time.Duration) func(Files, *Redis, Policy) (Files, error) {
	return func(f Files, _ *Redis, p Policy) (Files, error) { return f.SleepFirst(d, p) }
}

const (
	unitText = "[Service]\nExecStart=/usr/bin/redis-server /etc/redis/redis.conf --port 1\nRestart=always\n"
	yes      = "appendonly yes"
)

func TestSetLine(t *testing.T) {
	for name, tt := range map[string]struct {
		files  map[string]string
		policy string
		want   map[string]string
	}{
		"the last of a name": {map[string]string{"redis.conf": "appendonly no\n  appendonly no\nport 1\n"}, "",
			map[string]string{"redis.conf": "appendonly no\n  appendonly yes\nport 1\n"}},
		"at the end": {map[string]string{"redis.conf": "port 1"}, "", map[string]string{"redis.conf": "port 1\nappendonly yes\n"}},
		"with the file's line ends": {map[string]string{"redis.conf": "appendonly no\r\nport 1\r\n"}, "",
			map[string]string{"redis.conf": "appendonly yes\r\nport 1\r\n"}},
		"in an included file": {map[string]string{"redis.conf": "include d/*.conf\n", "d/a.conf": "appendonly no\n"}, "",
			map[string]string{"d/a.conf": "appendonly yes\n"}},
		"beside a unit": {map[string]string{"redis.conf": "port 1\n", "redis.service": unitText}, "redis.service",
			map[string]string{"redis.conf": "port 1\nappendonly yes\n"}},
		"in a drop-in": {map[string]string{"redis.service": "[Service]\nExecStart=-/usr/bin/redis-server --save \"\"\n"}, "redis.service",
			map[string]string{"redis.service.d/lockproof.conf": "[Service]\nExecStart=\n" +
				"ExecStart=-/usr/bin/redis-server --save \"\" --appendonly yes\n"}},
		"after the other drop-ins": {map[string]string{"redis.service": "[Service]\nExecStart=/usr/bin/redis-server --appendonly no\n",
			"redis.service.d/override.conf": "[Service]\nExecStart=\nExecStart=/usr/bin/redis-server --appendonly no --port 1\n"}, "redis.service",
			map[string]string{"redis.service.d/zz-lockproof.conf": "[Service]\nExecStart=\n" +
				"ExecStart=/usr/bin/redis-server --appendonly yes --port 1\n"}},
		"in a command": {map[string]string{"c.yaml": "services:\n  a:\n    image: redis\n" +
			"    command: redis-server --appendonly no # x\n"}, "c.yaml",
			map[string]string{"c.yaml": "services:\n  a:\n    image: redis\n    command: redis-server --appendonly yes # x\n"}},
		"at a command's end": {map[string]string{"c.yaml": "services:\n  a:\n    image: redis\n    command: [redis-server]\n"}, "c.yaml",
			map[string]string{"c.yaml": "services:\n  a:\n    image: redis\n    command: [redis-server, --appendonly, \"yes\"]\n"}},
		"in a script": {map[string]string{"c.yaml": "services:\n  a:\n    image: redis\n" +
			"    command: [sh, -c, \"sleep 5 && exec redis-server\"]\n"}, "c.yaml",
			map[string]string{"c.yaml": "services:\n  a:\n    image: redis\n" +
				"    command: [sh, -c, \"sleep 5 && exec redis-server --appendonly yes\"]\n"}},
		"a command of its own": {map[string]string{"c.yaml": "services:\n  a:\n    image: redis:7 # x\n    restart: always\n"}, "c.yaml",
			map[string]string{"c.yaml": "services:\n  a:\n    image: redis:7 # x\n" +
				"    command: [redis-server, --appendonly, \"yes\"]\n    restart: always\n"}},
		"in place of a merged one": {map[string]string{"c.yaml": "x: &x {command: redis-server --appendonly no}\nservices:\n  a:\n" +
			"    <<: *x\n    image: redis:7\n"},
			"c.yaml", map[string]string{"c.yaml": "x: &x {command: redis-server --appendonly no}\nservices:\n  a:\n    <<: *x\n" +
				"    image: redis:7\n" +
				"    command: \"redis-server --appendonly yes\"\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := edited(t, tt.files, tt.policy, line(yes))
			require.NoError(t, err)
			require.Equal(t, tt.want, map[string]string(got))
		})
	}
}

func TestSleepFirst(t *testing.T) {
	for name, tt := range map[string]struct {
		policy, text, want string
	}{
		"a command": {"c.yaml", "services:\n  a:\n    image: redis:7\n    command: redis-server --save \"\"\n",
			"services:\n  a:\n    image: redis:7\n    command: [sh, -c, \"sleep 31 && exec docker-entrypoint.sh redis-server --save ''\"]\n"},
		"an entrypoint and a command": {"c.yaml", "services:\n  a:\n    image: acme/redis\n    entrypoint: redis-server\n    command: --port 1\n",
			"services:\n  a:\n    image: acme/redis\n    entrypoint: [sh, -c, \"sleep 31 && exec redis-server --port 1\"]\n    command: []\n"},
		"a shorter sleep": {"c.yaml", "services:\n  a:\n    image: redis\n    command: [sh, -c, \"sleep 5 && exec redis-server\"]\n",
			"services:\n  a:\n    image: redis\n    command: [sh, -c, \"sleep 31 && exec redis-server\"]\n"},
		"arguments": {"p.yaml", "kind: Pod\nspec:\n  containers:\n  - image: redis\n    args: [--port, \"1\"]\n",
			"kind: Pod\nspec:\n  containers:\n  - image: redis\n" +
				"    args: [sh, -c, \"sleep 31 && exec docker-entrypoint.sh redis-server --port 1\"]\n"},
		"a probe": {"p.yaml", "kind: Pod\nspec:\n  containers:\n  - image: redis\n" +
			"    livenessProbe: {tcpSocket: {port: 1}, failureThreshold: 1}\n",
			"kind: Pod\nspec:\n  containers:\n  - image: redis\n    startupProbe: {failureThreshold: 91, periodSeconds: 1, tcpSocket: {port: 1}}\n" +
				"    args: [sh, -c, \"sleep 31 && exec docker-entrypoint.sh redis-server\"]\n" +
				"    livenessProbe: {tcpSocket: {port: 1}, failureThreshold: 1}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := edited(t, map[string]string{tt.policy: tt.text}, tt.policy, sleeps(31*time.Second))
			require.NoError(t, err)
			require.Equal(t, map[string]string{tt.policy: tt.want}, map[string]string(got))
		})
	}
}

// What would lose the image's own start, or change more than is meant, is told in words.
func TestWhatIsNotEdited(t *testing.T) {
	for name, tt := range map[string]struct {
		policy, text string
		change       func(Files, *Redis, Policy) (Files, error)
	}{
		"an image of others": {"c.yaml", "services: {a: {image: bitnami/redis}}\n", sleeps(time.Second)},
		"no image":           {"c.yaml", "services: {redis: {build: .}}\n", sleeps(time.Second)},
		"a script unread":    {"c.yaml", "services: {redis: {image: redis, command: ./start.sh}}\n", sleeps(time.Second)},
		"a line by a script": {"c.yaml", "services: {redis: {image: redis, command: ./start.sh}}\n", line(yes)},
		"a file unread":      {"c.yaml", "services: {redis: {image: redis, command: redis-server /x.conf}}\n", line(yes)},
		"a folded text": {"c.yaml", "services: {redis: {image: redis, command: redis-server /x, configs: [x]}}\nconfigs:\n  x:\n" +
			"    content: >\n" +
			"      port 1\n", line(yes)},
		"a unit by another name": {"redis.txt", "[Service]\nExecStart=/usr/bin/redis-server\n", sleeps(time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := edited(t, map[string]string{tt.policy: tt.text}, tt.policy, tt.change)
			require.Error(t, err)
		})
	}
	_, err := Disk.SetLine(yes, Default(), Policy{})
	require.ErrorContains(t, err, "no file is given")
	s, err := Disk.ReadRedis("", []string{"appendonly no"})
	require.NoError(t, err)
	_, err = Disk.SetLine(yes, s, Policy{})
	require.ErrorContains(t, err, `appendonly is given with --set "appendonly no"`)
}

// A package's unit is changed by a drop-in of /etc, where systemctl edit puts it.
func TestThePlaceOfDropIns(t *testing.T) {
	for unit, want := range map[string]string{
		"/lib/systemd/system/redis.service":     "/etc/systemd/system/redis.service.d/lockproof.conf",
		"/usr/lib/systemd/system/redis.service": "/etc/systemd/system/redis.service.d/lockproof.conf",
		"deploy/redis.service":                  "deploy/redis.service.d/lockproof.conf",
		"redis.conf":                            "",
	} {
		p, err := ParsePolicy(unit, []byte(unitText), "")
		require.NoError(t, err)
		require.Equal(t, want, p.DropIn)
	}
	f := Disk.with("/etc/systemd/system/redis-lockproof-test.service.d/x.conf", "[Service]\nRestartSec=7\n").
		with("/lib/systemd/system/redis-lockproof-test.service", unitText)
	p, err := f.ReadPolicy("/lib/systemd/system/redis-lockproof-test.service", "")
	require.NoError(t, err)
	require.Equal(t, 7*time.Second, p.Returns[Kill].After)
}
