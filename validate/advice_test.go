package validate

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockproof/validate/settings"
)

// applied are what starts a server, in files that people have, and how advice gets into
// them.
var applied = []struct {
	name, file, text string
	conf             string // redis.conf beside it, "" for none
}{
	{"a unit", "redis.service", "[Service]\nExecStart=/usr/bin/redis-server /etc/redis/redis.conf\nRestart=always\n", "appendonly no\n"},
	{"a unit with all on its command line", "redis.service", "[Service]\nExecStart=/usr/bin/redis-server --save \"\"\nRestart=always\n", ""},
	{"a unit whose start may take a second", "redis.service",
		"[Service]\nExecStart=/usr/bin/redis-server /etc/redis/redis.conf\nTimeoutSec=1\nRestart=always\n", "appendonly no\n"},
	{"a compose file", "compose.yaml", "services:\n  redis:\n    image: redis:7\n    command: redis-server --appendonly no\n", ""},
	{"a compose file that mounts its settings", "compose.yaml", "services:\n  redis:\n    image: redis:7\n" +
		"    command: redis-server /etc/redis.conf\n    volumes: [./redis.conf:/etc/redis.conf:ro]\n", "appendonly no\n"},
	{"a compose file with an entrypoint", "compose.yaml", "services:\n  redis:\n    image: redis:7\n" +
		"    entrypoint: redis-server --appendonly no\n", ""},
	{"a pod", "pod.yaml", "kind: Pod\nspec:\n  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n" +
		"  containers:\n  - name: redis\n    image: redis:7\n    livenessProbe: {exec: {command: [redis-cli, ping]}, periodSeconds: 1, " +
		"failureThreshold: 1}\n    command: [redis-server, --appendonly, \"no\"]\n", ""},
}

// Each piece of advice is followed in the very files and asked about again: then they are
// safe. What is given as a secret is not told.
func TestAdviceIsApplied(t *testing.T) {
	for _, tt := range applied {
		t.Run(tt.name, func(t *testing.T) {
			folder := t.TempDir()
			policy, conf := filepath.Join(folder, tt.file), filepath.Join(folder, "redis.conf")
			write := func() {
				require.NoError(t, os.WriteFile(policy, []byte(tt.text), 0o600))
				require.NoError(t, os.WriteFile(conf, []byte(tt.conf), 0o600))
			}
			write()
			a := follow(t, tt.conf, policy, conf)
			answer := judged(t, a)
			require.Equal(t, Unsafe, answer.Verdict)
			require.NoError(t, a.Advise(context.Background(), answer))
			require.Len(t, answer.Advice, 3)
			for _, advice := range answer.Advice {
				write()
				if advice.File != GuardedClients {
					put(t, tt.text, policy, advice)
				}
				asked := follow(t, tt.conf, policy, conf)
				asked.Guard = advice.File == GuardedClients
				again := judged(t, asked)
				require.Equal(t, Safe, again.Verdict, "%s\n%s\n%v", advice.File, strings.Join(advice.Lines, "\n"), again.Rows)
				require.NoError(t, os.RemoveAll(policy+".d"))
			}
		})
	}
}

// follow asks about files as they are now.
func follow(t *testing.T, text, policy, conf string) *Asker {
	t.Helper()
	p, err := settings.ReadPolicy(policy, "")
	require.NoError(t, err)
	if text == "" || p.Config != nil && p.Config.File != "" {
		conf = "" // there is none, or the policy names it
	}
	a := asker(t, "", p)
	a.Redis, err = settings.ReadSettings(conf, nil, p)
	require.NoError(t, err)
	return a
}

var started = regexp.MustCompile(`(?m)^( *)(command|entrypoint): .*$`)

// put writes advice where it says.
func put(t *testing.T, text, policy string, advice Advice) {
	t.Helper()
	lines := strings.Join(advice.Lines, "\n") + "\n"
	switch {
	case advice.File != policy: // a drop-in, or redis.conf
		require.NoError(t, os.MkdirAll(filepath.Dir(advice.File), 0o700))
		f, err := os.OpenFile(advice.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		_, err = f.WriteString(lines)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	case strings.Contains(text, "kind: Pod"):
		own := "    " + strings.Join(advice.Lines[1:], "\n    ")
		require.NoError(t, os.WriteFile(policy, []byte(started.ReplaceAllLiteralString(text, own)), 0o600))
	default: // the last line of a service is the one that changes
		require.NoError(t, os.WriteFile(policy, []byte(started.ReplaceAllLiteralString(text, advice.Lines[2])), 0o600))
	}
}

func TestASecretIsNotTold(t *testing.T) {
	p, err := settings.ParsePolicy("compose.yaml",
		[]byte("services: {redis: {image: redis, command: redis-server --requirepass hunter2 --appendonly no}}"), "")
	require.NoError(t, err)
	a := asker(t, "2-no-persistence.conf", p)
	require.Equal(t, []string{"services:", "  redis:",
		`    command: [sh, -c, "sleep 2 && exec docker-entrypoint.sh redis-server --requirepass AS-BEFORE --appendonly no"]`},
		a.delayed(*a.Redis, nil).Lines)
}

func TestTheStartHasTimeForTheSleep(t *testing.T) {
	for timeout, want := range map[string]string{
		"": "", "TimeoutStartSec=infinity": "", "TimeoutSec=5\nTimeoutStartSec=10min": "",
		"TimeoutSec=5": "TimeoutStartSec=121", "TimeoutStartSec=10min\nTimeoutSec=5": "TimeoutStartSec=121",
	} {
		p, err := settings.ParsePolicy("redis.service", []byte("[Service]\nExecStart=/usr/bin/redis-server\nRestart=always\n"+timeout), "")
		require.NoError(t, err)
		a := asker(t, "2-no-persistence.conf", p)
		a.TTLs = []time.Duration{30 * time.Second}
		lines := []string{"[Service]", "ExecStartPre=/bin/sleep 31"}
		if want != "" {
			lines = append(lines, want)
		}
		require.Equal(t, lines, a.delayed(*a.Redis, nil).Lines, timeout)
	}
}
