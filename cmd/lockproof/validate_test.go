package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
)

func TestValidateUsageErrors(t *testing.T) {
	dir := t.TempDir()
	conf, other := filepath.Join(dir, "redis.conf"), filepath.Join(dir, "other.conf")
	require.NoError(t, os.WriteFile(conf, []byte("save 60\nappendfsync sometimes\n"), 0o644))
	require.NoError(t, os.WriteFile(other, []byte("appendonly yes\n"), 0o644))
	tests := []struct {
		args []string
		want string
	}{
		{nil, "validate needs a file: as in lockproof validate /etc/redis/redis.conf redis.service"},
		{[]string{"missing.conf"}, "missing.conf: cannot be read: no such file or directory; give a redis.conf, a systemd " +
			"unit"},
		{[]string{"--config", "missing.conf"}, "missing.conf: cannot be read: no such file or directory; name a file that " +
			"is there"},
		{[]string{conf}, conf + `:1:1: "60" is not a list of rules`},
		{[]string{conf}, conf + ":2:1: appendfsync sometimes: there is no such value; there are always, everysec, no"},
		{[]string{other, other}, "this is given twice"},
		{[]string{"--config", ""}, "--config is empty"},
		{[]string{"--config", "compose.yaml"}, "give it as an argument: lockproof validate compose.yaml"},
		{[]string{"--set", "appendonly perhaps"}, `--set "appendonly perhaps": appendonly perhaps: there is no such value`},
		{[]string{other, "--ttl", "30"}, "--ttl 30: want durations with units, for example 30s,5s"},
		{[]string{other, "--ttl", "30s,1ms"}, "--ttl 1ms: a TTL lies between 20ms and 10m"},
		{[]string{other, "--crash", "explode"}, "--crash explode: there is no such crash: there are kill, shutdown, " +
			"power-loss"},
		{[]string{other, "--restart-delay", "-1s"}, "--restart-delay -1s: give a time from 0s to 1h"},
		{[]string{other, "--drift-factor", "0"}, "--drift-factor 0: give a part of the TTL from 0.0001 to 0.5"},
		{[]string{other, "--format", "xml"}, "--format xml: there is no such format"},
		{[]string{"--set", "bind", "--service", "redis"}, "--service names a service in a file"},
		{[]string{other, "--json", "--format", "github"}, "--json prints the answer, and --format github its findings"},
		{[]string{other, "--on", "lokal"}, "there is no such cluster: did you mean \"local\"?"},
		{[]string{other, "--trials", "0"}, "--trials 0: give a number from 1 to 100000"},
		{[]string{other, "--out", ""}, "--out is empty"},
		{[]string{other, "--restartdelay"}, "did you mean \"--restart-delay\"?"},
		{[]string{dir + "/none/.."}, "cannot be read"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			got := fake(expected).try(append([]string{"validate"}, tt.args...)...)
			require.Equal(t, exitUsage, got.code, got.out)
			require.Contains(t, got.err, tt.want)
			require.Empty(t, got.out)
		})
	}
}

func TestValidateExitCodes(t *testing.T) {
	tests := []struct {
		name  string
		trial func(suite.Job, int) suite.Result
		want  int
		says  string
	}{
		{"safe", verdict(history.Holds, history.Holds), 0, "✓ safe: --set with a TTL of 5s"},
		{"unsafe", verdict(history.Holds, history.Violated), 1, "✗ unsafe: --set with a TTL of 5s"},
		{"in doubt", verdict(history.Holds, history.Inconclusive), 4, "? in doubt: --set with a TTL of 5s"},
		{"failed", func(suite.Job, int) suite.Result { return suite.Result{Failure: "n3 did not start"} }, 3,
			"the harness failed: n3 did not start"},
		{"skipped", func(suite.Job, int) suite.Result { return suite.Result{Skipped: "no compiler"} }, 4,
			"no trial decided: no compiler"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := t.TempDir()
			got := fake(tt.trial).try("validate", "--set", "appendonly yes", "--set", "appendfsync always",
				"--ttl", "5s", "--crash", "power-loss", "--trials", "2", "--out", out)
			require.Equal(t, tt.want, got.code, got.err)
			require.Contains(t, got.out, tt.says)
			answer := answerIn(t, out)
			require.Equal(t, tt.want, answer.ExitCode)
			require.Equal(t, "power-loss", answer.Rows[0].Crash)
		})
	}
}

// validated judges files in the working directory; trials of crashes are predicted.
func validated(args ...string) ran {
	p := fake(expected)
	p.suite = predicted
	return p.try(append([]string{"validate"}, args...)...)
}

// inFolderOf changes to a new folder with these files.
func inFolderOf(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for file, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
}

func TestValidate_WithoutOut_WritesNothing(t *testing.T) {
	inFolderOf(t, nil)
	require.Equal(t, 1, validated("--ttl", "5s", "--trials", "1", "--set", "appendonly no").code)
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestValidate_Folder_PrintsFindings(t *testing.T) {
	t.Chdir("testdata/linted/plain")
	for format, parts := range map[string][]string{
		"text": {"a/redis.service:3: LP012 in doubt: not understood: ExecStop (stop)",
			"compose.yaml:4: LP003 unsafe: power-loss: ",
			"b/redis.yaml:2: LP018 in doubt: this is not YAML"},
		"json":   {`"id": "LP003"`, `"line": 4`},
		"github": {"::error file=compose.yaml,line=4,title=LP003::", "::warning file=a/redis.service,line=3,title=LP012::"},
	} {
		got := validated(".", "--format", format)
		require.Equal(t, 1, got.code, got.err)
		for _, part := range parts {
			require.Contains(t, got.out, part, format)
		}
		if format == "json" {
			require.True(t, json.Valid([]byte(got.out)))
		}
	}
}

// A master's folder has its replica and its Sentinel, and a compose file's has its override.
func TestValidate_Folder_JudgesFilesTogether(t *testing.T) {
	t.Chdir("testdata/linted")
	for folder, want := range map[string]struct {
		code int
		says string
	}{
		"conf":       {1, "LP004 unsafe: failover: "},
		"app":        {4, "app/compose.override.yaml: LP012 in doubt: not understood: what docker compose merges"},
		"objects":    {4, "objects/tidy.yaml:2: LP015 in doubt: not understood: the container tidy, which sees claim d too"},
		"kustomized": {4, "kustomized/kustomization.yaml:1: LP011 in doubt: not understood: a kustomization"},
		"units":      {4, "units/redis.service.d/10.conf:2: LP012 in doubt: not understood: ExecStopPost (tidy)"},
	} {
		got := validated(folder)
		require.Equal(t, want.code, got.code, "%s: %s%s", folder, got.out, got.err)
		require.Contains(t, got.out, want.says)
	}
}

func TestValidate_Folder_OpenDelayIsAFinding(t *testing.T) {
	inFolderOf(t, map[string]string{"redis.service": "[Service]\nExecStart=/usr/bin/redis-server --save \"\"\n" +
		"ExecStartPre=-/bin/sleep 40\n"})
	got := validated(".", "--format", "text")
	require.Equal(t, 4, got.code, got.out+got.err)
	require.Contains(t, got.out, "redis.service:3: LP014 in doubt: it sleeps for up to 40s before the start")
}

// The redis.conf is a container's, or in a copy of another machine's root: the included path means another file there.
func TestValidate_IncludeOfAnotherRoot_IsNotRead(t *testing.T) {
	here := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(here, "more.conf"), []byte("# nothing\n"), 0o600))
	config := "save \"\"\nappendonly yes\nappendfsync always\ndir /data\ninclude " + here + "/more.conf\n"
	for name, files := range map[string]map[string]string{
		"compose.yaml": {"conf/redis.conf": config, "compose.yaml": "services: {lock: {image: 'redis:7', " +
			"command: redis-server /conf/redis.conf, volumes: ['d:/data', './conf:/conf']}}\nvolumes: {d: {}}\n"},
		"etc/systemd/system/redis.service": {"etc/redis/redis.conf": config,
			"etc/systemd/system/redis.service": "[Service]\n" +
				"ExecStart=/usr/bin/redis-server /etc/redis/redis.conf\n"},
	} {
		t.Run(name, func(t *testing.T) {
			inFolderOf(t, files)
			got := validated(name, "--trials", "1")
			require.Equal(t, 4, got.code, got.out+got.err)
			require.Contains(t, strings.Join(strings.Fields(got.out), " "), "the directive include")
		})
	}
}

func TestValidate_StandardInput_FormatIsRecognised(t *testing.T) {
	for text, want := range map[string]int{
		"save\n\nappendonly\nyes\nappendfsync\nalways\ndir\n/data\nno-appendfsync-on-rewrite\nno\n" +
			"maxmemory-policy\nnoeviction\nreplicaof\n\ncluster-enabled\nno\nmaxmemory\n0\n": 0,
		"1) \"save\"\n2) \"\"\n3) \"appendonly\"\n4) \"no\"\n5) \"appendfsync\"\n6) \"always\"\n" +
			"7) \"dir\"\n8) \"/data\"\n": 4,
		`{"save":"","appendonly":"yes","appendfsync":"everysec","dir":"/data"}`: 4,
		"services: {lock: {image: 'redis:7', command: redis-server --appendonly yes --appendfsync always, volumes: " +
			"['d:/data']}}\nvolumes: {d: {}}\n": 0,
		`[{"Name":"/lock","Config":{"Image":"redis:7","Entrypoint":["docker-entrypoint.sh"],` +
			`"Cmd":["redis-server","--appendonly",` +
			`"yes","--appendfsync","always"],"Env":["PATH=/bin","REDIS_DOWNLOAD_SHA=x"],"WorkingDir":"/data"},` +
			`"HostConfig":{"RestartPolicy":{"Name":"always"}},"Mounts":[{"Type":"volume","Name":"lock",` +
			`"Source":"/var/lib/docker/volumes/lock/_data","Destination":"/data","Driver":"local"}]}]`: 0,
	} {
		p := fake(expected)
		p.suite = predicted
		got := p.tryWith(t.Context(), text, "validate", "-", "--trials", "1")
		require.Equal(t, want, got.code, "%s\n%s\n%s", text, got.out, got.err)
	}
}

func TestValidate_PrintsNoSecret(t *testing.T) {
	for name, tt := range map[string]struct {
		file, text string
		flags      []string
	}{
		"a command": {"compose.yaml", "services: {lock: {image: redis, command: redis-server " +
			"--requirepass hunter22 --appendonly no}}", nil},
		"a directive with a slip": {"redis.conf", "requirpass hunter22\nappendonly yes\n", nil},
		"a word with an equals sign": {"compose.yaml", "services: {lock: {image: redis, command: redis-server " +
			"--requirepass=hunter22}}", nil},
		"a line beside the file": {"redis.conf", "appendonly yes\n", []string{"--set", "requirepass hunter22", "--set",
			"masterauth hunter22"}},
		"a slip beside the file": {"redis.conf", "appendonly yes\n", []string{"--set", "requirpass hunter22"}},
		"a shell's variable": {"compose.yaml", "services: {lock: {image: redis, command: [sh, -c, " +
			"'PASSWORD=hunter22 start']}}", nil},
		"a variable and nothing else": {"compose.yaml", "services: {lock: {image: redis, command: PASSWORD=hunter22}}", nil},
		"the environment": {"compose.yaml", "services: {lock: {image: redis, environment: {SECRET_THING: " +
			"hunter22}}}", nil},
		"a Sentinel's":  {"redis.conf", "sentinel auth-pass lock hunter22\n", nil},
		"two passwords": {"redis.conf", "requirepass hunter22 hunter22\nuser worker on >hunter22\n", nil},
		"a unit's environment": {"redis.service",
			"[Service]\nEnvironment=REDIS_PASSWORD=hunter22\nExecStart=/usr/bin/redis-server --requirepass ${REDIS_PASSWORD}\n",
			nil},
		"a script of a unit": {"redis.service", "[Service]\nExecStartPre=/bin/login --pass " +
			"hunter22\nExecStart=/usr/bin/redis-server\n", nil},
		"a hook": {"compose.yaml", "services: {lock: {image: redis, post_start: [{command: 'redis-cli -a " +
			"hunter22 config set x y'}]}}", nil},
		"a list that is no YAML": {"compose.yaml", "services:\n  lock:\n    command: --requirepass hunter22\n   image: " +
			"redis\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			inFolderOf(t, map[string]string{tt.file: tt.text})
			for _, more := range [][]string{nil, {"--json"}, {"--verbose"}, {"--format", "github"}} {
				got := validated(slices.Concat([]string{tt.file, "--out", "out", "--trials", "1"}, tt.flags, more)...)
				require.NotContains(t, got.out+got.err, "hunter22")
			}
			told, err := filepath.Glob("out/*.*")
			require.NoError(t, err)
			for _, file := range told {
				require.NotContains(t, read(t, file), "hunter22", file)
			}
		})
	}
}

// The variable could name the server's volume.
func TestValidate_VolumeByVariable_IsAnAssumption(t *testing.T) {
	inFolderOf(t, map[string]string{"compose.yaml": `services:
  lock:
    image: redis:7
    command: redis-server --appendonly yes --appendfsync always --no-appendfsync-on-rewrite no
    volumes: ['data:/data']
  app: {image: app, volumes: ['${PLACE}:/app']}
volumes: {data: {}}
`})
	got := validated("compose.yaml", "--ttl", "5s", "--trials", "1", "--verbose")
	require.Contains(t, got.out, "the service app does not mount the server's volume by its variable", got.err)
}
