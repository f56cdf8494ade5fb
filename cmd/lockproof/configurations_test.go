package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
	"example.org/lockproof/validate"
	"example.org/lockproof/validate/settings"
)

// TestConfigurations judges each of testdata/configurations.txt, with a TTL of 30 s.
func TestConfigurations(t *testing.T) {
	root, err := filepath.Abs("testdata/configurations")
	require.NoError(t, err)
	for line := range strings.Lines(read(t, root+".txt")) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		folder, rest, _ := strings.Cut(line, ": ")
		t.Run(folder, func(t *testing.T) {
			t.Chdir(filepath.Join(root, folder))
			requireAnswer(t, strings.Split(strings.TrimRight(rest, "\n"), " | "), nil)
		})
	}
}

// requireAnswer judges files in the working directory, and compares the answer with a case: title, verdicts with or
// without a bar, exit code and flags.
func requireAnswer(t *testing.T, fields, files []string) {
	t.Helper()
	last := len(fields) - 1
	got, exit := answerOf(t, append(strings.Fields(fields[last]), files...))
	require.Equal(t, strings.Join(fields[1:last-1], " | "), got)
	require.Equal(t, fields[last-1], fmt.Sprint(exit))
}

// policyFile returns the file with the restart policy in the working directory, nil for none.
func policyFile(t *testing.T) []string {
	t.Helper()
	for _, pattern := range []string{"redis*.service", "redis.container", "compose.yaml", "workload.yaml"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		if len(found) > 0 {
			return found[:1]
		}
	}
	return nil
}

// answerOf runs validate in the working directory, and returns the verdicts as letters.
func answerOf(t *testing.T, flags []string) (verdicts string, exit int) {
	t.Helper()
	p, out := fake(expected), t.TempDir()
	p.suite, p.screen.Width = predicted, 100
	policy := policyFile(t)
	if slices.ContainsFunc(flags, exists) {
		policy = nil
	}
	got := p.try(slices.Concat([]string{"validate", "--ttl", "30s", "--trials", "2", "--out", out}, policy, flags)...)
	require.Empty(t, got.err)
	text, _, _ := strings.Cut(got.out, "\nWritten to ")
	require.LessOrEqual(t, strings.Count(text, "\n")+1, 15, "an operator reads the answer once:\n%s", got.out)
	answer := answerIn(t, out)
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

// answer is a part of a validation's file.
type answer struct {
	ExitCode        int `json:"exit_code"`
	Rows, Takeovers []struct{ Crash, Verdict string }
}

func answerIn(t *testing.T, out string) (a answer) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(read(t, filepath.Join(out, reports.ValidationFile))), &a))
	return a
}

// predicted replaces the trials of crashes by prediction, which validate's own tests check against real trials.
// Takeovers run, once for each scenario.
func predicted(ctx context.Context, jobs []suite.Job, o suite.Options, observe func(suite.Result)) (all []suite.Result,
	err error) {
	for _, job := range jobs {
		if job.Scenario.Nodes == nil || len(job.Scenario.Replicas) == 0 {
			verdict := prediction(job.Scenario.Name)
			if job.Scenario.Lock.WaitAOF {
				verdict = history.Holds // the virtual servers answer after their fsync
			}
			all = append(all, suite.Result{Scenario: job.Scenario.Name,
				Results: []checker.Result{{Property: checker.MutualExclusion, Verdict: verdict}}})
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

// prediction is the verdict of a point's trial, by the point's name: violated if the server forgets and is back before
// the lock has expired, else holds.
func prediction(name string) string {
	m := pointName.FindStringSubmatch(name)
	ttl, _ := time.ParseDuration(m[3])
	delay, _ := time.ParseDuration(m[4])
	if validate.Forgets(cluster.Persistence(m[1]), settings.Crash(m[2])) && delay < validate.Boundary(ttl, 0) {
		return history.Violated
	}
	return history.Holds
}

var pointName = regexp.MustCompile(`^(.*)-(kill|shutdown|power-loss)-ttl-(.*)-back-after-(.*)-\d+$`)

// tried caches the trials that several configurations share.
var tried sync.Map

// exists reports whether a flag names an existing file.
func exists(flag string) bool {
	info, err := os.Stat(flag)
	return err == nil && info.Mode().IsRegular() && flag != "redis.conf"
}
