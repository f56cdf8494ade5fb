package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/suite"
	"lockproof/reports"
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
	{"07-unit-times-out", "a sleep that `TimeoutStartSec` ends", config, "i i i", 2},
	{"08-unit-drop-in", "a drop-in with the sleep", config, "s s s", 0},
	{"09-unit-options-outrank", "`appendfsync always` on the command line, nothing in the file", config, "s s s", 0},
	{"10-unit-file-elsewhere", "a unit whose redis.conf is not at hand", nil, "i i i", 2},
	{"11-compose-defaults", "the image as it comes", nil, "u s u", 1},
	{"12-compose-always", "`appendfsync always` in the command", nil, "s s s", 0},
	{"13-compose-cache", "a cache: no persistence", nil, "u u u", 1},
	{"14-compose-sleeps-first", "a command that sleeps first", nil, "s s s", 0},
	{"15-compose-bind-mount", "a bind-mounted redis.conf", nil, "s s s", 0},
	{"16-compose-file-missing", "a bind mount of a file that is not there", nil, "i i i", 2},
	{"17-compose-config", "a redis.conf under `configs:`", nil, "s s u", 1},
	{"18-compose-no-restart", "nothing restarts it", nil, "u s u", 1},
	{"19-compose-cluster", "a node of a Redis Cluster", nil, "i i i", 2},
	{"20-compose-evicts", "`allkeys-lru` with a limit", nil, "s s s", 2},
	{"21-compose-unknown", "a directive that is not known", nil, "i i i", 2},
	{"22-compose-renamed", "`rename-command` of what no lock needs", nil, "s s s", 0},
	{"23-statefulset-everysec", "a StatefulSet with `--appendonly yes`", nil, "s s u", 1},
	{"24-deployment-no-volume", "a Deployment without a volume", nil, "s s i", 2},
	{"25-statefulset-configmap", "a StatefulSet, its redis.conf in a ConfigMap", nil, "s s s", 0},
	{"26-statefulset-no-configmap", "the same without the ConfigMap", nil, "i i i", 2},
	{"27-statefulset-probe", "a sleep that the liveness probe ends", nil, "i i i", 2},
	{"28-compose-sentinel", "master, replica and Sentinel", []string{"--service", "primary"}, "s s s | u u u", 1},
	{"29-compose-sentinel-wait", "the same, and the lock waits for the replica", []string{"--service", "primary", "--wait", "1"}, "s s s | s s s", 0},
	{"30-compose-min-replicas", "`min-replicas-to-write 1`, and a Sentinel that waits for a minute", []string{"--service", "primary"}, "s s s | s u s", 1},
}

// config is given where the unit's redis.conf lies beside it.
var config = []string{"--config", "redis.conf"}

// TestConfigurations judges each as an operator does, with locks of 30 s.
func TestConfigurations(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	right := 0
	var table strings.Builder
	table.WriteString("| configuration | beside the file | kill | shutdown | power loss | takeovers | exit status |\n|---|---|---|---|---|---|---|\n")
	for _, c := range configurations {
		crashes, takeovers, _ := strings.Cut(c.want, " | ")
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %d |\n", c.what, strings.Join(beside(c.flags), " "),
			strings.Join(spell(crashes), " | "), strings.Join(spell(takeovers), ", "), c.exit)
		t.Run(c.folder, func(t *testing.T) {
			t.Chdir(filepath.Join(root, "cmd/lockproof/testdata/configurations", c.folder))
			got, exit := answerOf(t, c.flags)
			require.Equal(t, c.want, got)
			require.Equal(t, c.exit, exit)
			right++
		})
	}
	require.Equal(t, 30, right)
	page := filepath.Join(root, "docs", "validate.md")
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(data), "| configuration | beside")
	require.True(t, found)
	_, after, _ := strings.Cut(rest, "\n\n")
	if want := before + table.String() + "\n" + after; *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
	} else {
		require.Equal(t, want, string(data), "docs/validate.md: -update writes the table")
	}
}

// answerOf runs validate in the folder at hand, and gives the verdicts as in want.
func answerOf(t *testing.T, flags []string) (verdicts string, exit int) {
	t.Helper()
	var policy string
	for _, name := range []string{"redis.service", "compose.yaml", "workload.yaml"} {
		if _, err := os.Stat(name); err == nil {
			policy = name
		}
	}
	p, out := fake(expected), t.TempDir()
	p.suite = suite.Run
	got := p.try(append([]string{"validate", "--restart-policy", policy, "--ttl", "30s", "--trials", "5", "--out", out}, flags...)...)
	require.Empty(t, got.err)
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

// spell writes verdicts out.
func spell(letters string) (words []string) {
	for _, l := range strings.Fields(letters) {
		words = append(words, map[string]string{"s": "safe", "u": "**unsafe**", "i": "inconclusive"}[l])
	}
	return words
}

// beside are the flags that a reader has to know of.
func beside(flags []string) (told []string) {
	for i := 0; i+1 < len(flags); i += 2 {
		if flags[i] != "--service" {
			told = append(told, "`"+flags[i]+" "+flags[i+1]+"`")
		}
	}
	return told
}
