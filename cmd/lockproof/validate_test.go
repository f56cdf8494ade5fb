package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
	"lockproof/harness/suite"
	"lockproof/reports"
	"lockproof/validate"
)

func TestValidateUsageErrors(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "redis.conf")
	require.NoError(t, os.WriteFile(conf, []byte("save 60\nappendfsync sometimes\n"), 0o644))
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"redis.conf"}, `takes no argument: the file is given with --config, and "redis.conf" is too much`},
		{[]string{"--config", "missing.conf"}, "lockproof: missing.conf: cannot be read: no such file or directory; name a file that is there"},
		{[]string{"--config", conf}, conf + `:1:1: "60" is not a list of rules`},
		{[]string{"--config", conf}, conf + ":2:1: appendfsync sometimes: there is no such value; there are always, everysec, no"},
		{[]string{"--config", ""}, "--config is empty"},
		{[]string{"--config", "compose.yaml"}, "is read with --restart-policy compose.yaml"},
		{[]string{"--set", "appendonly perhaps"}, `--set "appendonly perhaps": appendonly perhaps: there is no such value`},
		{[]string{"--ttl", "30"}, "--ttl 30: this takes durations with their units, as in 30s,5s"},
		{[]string{"--ttl", "30s,1ms"}, "--ttl 1ms: a TTL lies between 20ms and 10m"},
		{[]string{"--crash", "explode"}, "--crash explode: there is no such crash: there are kill, shutdown, power-loss"},
		{[]string{"--crash", "powerloss"}, "did you mean power-loss?"},
		{[]string{"--restart-delay", "-1s"}, "--restart-delay -1s: give a time from 0s to 1h"},
		{[]string{"--restart-policy", "missing.service"}, "missing.service: cannot be read: no such file or directory; give a systemd unit"},
		{[]string{"--restart-policy", conf}, "is not a line of a unit"},
		{[]string{"--service", "redis"}, "--service names a service in a file"},
		{[]string{"--on", "lokal"}, "there is no such cluster: did you mean local?"},
		{[]string{"--trials", "0"}, "--trials 0: give a number from 1 to 100000"},
		{[]string{"--drift-factor", "2"}, "--drift-factor 2: give a part of the TTL"},
		{[]string{"--frontier-trials", "0"}, "--frontier-trials 0: give a number"},
		{[]string{"--out", ""}, "--out is empty"},
		{[]string{"--finddelay"}, "did you mean --find-delay?"},
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
		{"safe", verdict(history.Holds, history.Holds), 0, "✓ safe with a TTL of 5s"},
		{"unsafe", verdict(history.Holds, history.Violated), 1, "✗ unsafe with a TTL of 5s"},
		{"inconclusive", verdict(history.Holds, history.Inconclusive), 2, "? inconclusive with a TTL of 5s"},
		{"failed", func(suite.Job, int) suite.Result { return suite.Result{Failure: "n3 did not start"} }, 3,
			"the harness failed: n3 did not start"},
		{"skipped", func(suite.Job, int) suite.Result { return suite.Result{Skipped: "no compiler"} }, 2, "no trial decided: no compiler"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := t.TempDir()
			got := fake(tt.trial).try("validate", "--set", "appendonly yes", "--set", "appendfsync always",
				"--ttl", "5s", "--crash", "power-loss", "--trials", "2", "--out", out)
			require.Equal(t, tt.want, got.code, got.err)
			require.Contains(t, got.out, tt.says)
			data, err := os.ReadFile(filepath.Join(out, reports.ValidationFile))
			require.NoError(t, err)
			var answer struct {
				Verdict  validate.Verdict `json:"verdict"`
				ExitCode int              `json:"exit_code"`
			}
			require.NoError(t, json.Unmarshal(data, &answer))
			require.Equal(t, tt.want, answer.ExitCode)
			require.FileExists(t, filepath.Join(out, reports.ValidationPageFile))
		})
	}
}

// The harness's own failure is told whatever was measured when it came.
func TestValidateFailsWithTheHarness(t *testing.T) {
	holds := verdict(history.Holds, history.Holds)
	tests := []struct {
		name  string
		flag  string
		fails func(suite.Job) bool
	}{
		{"a hazard", "--on=local", func(j suite.Job) bool { return j.Scenario.Name == "eviction" }},
		{"the frontier", "--frontier", func(j suite.Job) bool { return strings.HasPrefix(j.Scenario.Name, "rdb") }},
		{"a search", "--pause", func(j suite.Job) bool { return strings.HasPrefix(j.Scenario.Name, "pause") }},
		{"the delay", "--find-delay", func(j suite.Job) bool {
			return strings.HasSuffix(j.Scenario.Name, "back-after-0s") && !strings.HasPrefix(j.Scenario.Name, "majority")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := fake(func(j suite.Job, n int) suite.Result {
				if tt.fails(j) {
					return suite.Result{Failure: "n3 did not start"}
				}
				return holds(j, n)
			})
			got := p.try("validate", "--set", "appendonly yes", "--set", "appendfsync always",
				"--set", "maxmemory 10mb", "--set", "maxmemory-policy allkeys-lru", "--ttl", "5s", "--crash", "kill",
				"--trials", "1", "--frontier-trials", "1", "--throughput=false", "--out", t.TempDir(), tt.flag)
			require.Equal(t, 3, got.code, got.out)
			require.Contains(t, got.out, "the harness failed: n3 did not start")
		})
	}
}

// What was cut short in the frontier is neither safe nor forgotten.
func TestAnInterruptedValidation(t *testing.T) {
	for _, tt := range []struct {
		verdict string
		want    int
	}{{history.Holds, 2}, {history.Violated, 1}} {
		ctx, cancel := context.WithCancel(context.Background())
		p := fake(verdict(history.Holds, tt.verdict))
		run := p.suite
		p.suite = func(ctx context.Context, jobs []suite.Job, o suite.Options, observe func(suite.Result)) ([]suite.Result, error) {
			if len(jobs) > 50 { // the frontier's
				jobs = jobs[:50]
				cancel()
			}
			return run(ctx, jobs, o, observe)
		}
		var out, err strings.Builder
		p.in, p.out, p.err = strings.NewReader(""), &out, &err
		code := p.main(ctx, []string{"validate", "--set", "appendonly yes", "--set", "appendfsync always",
			"--ttl", "5s", "--crash", "kill", "--trials", "2", "--frontier", "--out", t.TempDir()})
		require.Equal(t, tt.want, code, err.String())
		for _, part := range []string{"as far as it went: it was interrupted", "50 trials in virtual time"} {
			require.Contains(t, out.String(), part)
		}
		require.NotContains(t, out.String(), "differs:")
	}
}

func TestValidateInVirtualTime(t *testing.T) {
	p := fake(expected)
	p.suite = suite.Run
	out := t.TempDir()
	got := p.try("validate", "--set", "appendonly yes", "--ttl", "5s", "--trials", "4", "--out", out, "--restart-delay", "1s")
	require.Equal(t, 1, got.code, got.err)
	for _, part := range []string{
		"✗ unsafe with a TTL of 5s", `appendonly yes  (given)`, "kill        5s   1s          ✓ safe",
		"power-loss  5s   1s          ✗ unsafe",
		"appendfsync everysec syncs once a second", "1. in whatever starts Redis:",
		"sleep 6 before redis-server, at every start", "appendfsync always",
	} {
		require.Contains(t, got.out, part)
	}
	kept, err := filepath.Glob(filepath.Join(out, "trials", "*", "*", "history.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, kept, "a violation is proved by its history")
	_, proof, _ := strings.Cut(got.out, "proof: lockproof check ")
	file, _, _ := strings.Cut(proof, "\n")
	checked := p.try("check", file)
	require.Equal(t, 1, checked.code)
	require.Contains(t, checked.out, "mutual-exclusion: violated")

	p = fake(expected)
	p.suite = suite.Run
	asJSON := p.try("validate", "--set", "appendonly yes", "--ttl", "5s", "--trials", "1", "--crash", "kill", "--out", out, "--json")
	require.Equal(t, 0, asJSON.code, asJSON.err)
	require.True(t, json.Valid([]byte(asJSON.out)))
	left, err := filepath.Glob(filepath.Join(out, "trials", "*", "*", "history.jsonl"))
	require.NoError(t, err)
	require.NotContains(t, left, kept[len(kept)-1], "an earlier run's histories are gone")
}
