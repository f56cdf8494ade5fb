package league

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.org/lockproof/harness/locktest"
	"example.org/lockproof/reports"
)

// Optional flags: go test -run 'TestLeague/redsync' -on local -trials 10 -scenarios late-release
var (
	explore = flag.Duration("explore", 10*time.Minute, "for how long to explore each lock")
	on      = flag.String("on", "", "local: real servers for all, and not only for locks that cannot be in virtual time")
	ttl     = flag.Duration("ttl", 0, "the TTL on real servers, 0: each scenario's own; with 2s a busy machine's stalls "+
		"matter less")
	trials = flag.Int("trials", 1, "how many trials of each scenario")
	chosen = flag.String("scenarios", "", "names or files of scenarios, with commas between them")
)

// inRealTime are the scenarios for locks on real servers: each takes seconds there.
var inRealTime = []string{
	"healthy-contention", "slow-acquire", "pause-in-acquire", "late-release", "late-set", "lost-reply", "resent-set",
	"hung-node",
	"minority-down", "late-extension", "watchdog-cut-off", "delayed-restart", "cancelled-acquire", "holder-crashes",
	"release-by-plain-del", "release-by-get-then-del", "setnx-then-expire", "shared-lock-object", "opposite-order",
	"extend-without-owner", "extend-too-late", "drift-within-margin",
}

// own are the league's own scenarios: the shortest that show the findings.
func own(t *testing.T) []string {
	files, err := filepath.Glob(filepath.Join("scenarios", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the league's own scenarios: %v", err)
	}
	return files
}

// TestLeague runs every lock over the catalogue. A broken lock fails its subtest: this does not test Lockproof, it
// makes the table.
func TestLeague(t *testing.T) {
	for _, lock := range All() {
		if lock.Unjudged != "" {
			continue
		}
		t.Run(lock.Test, func(t *testing.T) {
			if done(t) {
				return
			}
			options := []locktest.Option{locktest.Trials(*trials)}
			names := strings.Split(*chosen, ",")
			if *chosen == "" {
				names = append(own(t), "*")
				switch {
				case lock.Only != nil && (!lock.Dials || onRealServers(lock)):
					names = lock.Only
				case onRealServers(lock):
					names = append(own(t), inRealTime...)
				}
			}
			if lock.Worker != "" {
				work(t, lock, names, *trials)
				return
			}
			options = append(options, locktest.Scenarios(names...))
			if lock.RealTime != "" || *on == "local" {
				options = append(options, onReal()...)
			}
			run(t, lock, options)
		})
	}
}

// onRealServers reports whether a lock cannot run in virtual time: one that dials by itself can with lockproof test.
func onRealServers(lock Lock) bool { return lock.RealTime != "" || lock.Dials && !locktest.Overlaid() }

// TestExplored runs random schedules and looks for two holders at once. It omits locks on real servers: the schedules
// run in virtual time.
func TestExplored(t *testing.T) {
	for _, lock := range All() {
		if onRealServers(lock) || lock.NoExplore || lock.Unjudged != "" {
			continue
		}
		t.Run(lock.Test, func(t *testing.T) {
			t.Parallel() // each with one process at a time under -cpu 1
			if done(t) {
				return
			}
			run(t, lock, []locktest.Option{locktest.Scenarios("healthy-contention"), locktest.Properties("mutual-exclusion"),
				locktest.Explore(*explore), locktest.ProgressTimeout(2 * time.Minute)})
		})
	}
}

// TestConfirmed repeats every finding ten times on real servers: before that, no cross is published.
func TestConfirmed(t *testing.T) {
	for _, lock := range All() {
		var names []string
		for _, f := range lock.Findings {
			names = append(names, f.Confirm...)
		}
		if len(names) == 0 {
			continue
		}
		slices.Sort(names)
		names = slices.Compact(names)
		t.Run(lock.Test, func(t *testing.T) {
			if done(t) {
				return
			}
			if lock.Worker != "" {
				work(t, lock, names, max(*trials, confirmations))
				return
			}
			run(t, lock, append(onReal(), locktest.Scenarios(names...), locktest.Trials(max(*trials, confirmations))))
		})
	}
}

// confirmations is the number of trials of a finding on real servers.
const confirmations = 10

func run(t *testing.T, lock Lock, options []locktest.Option) {
	// The next run must begin with the catalogue, and not with the finds of this one.
	t.Cleanup(func() { os.RemoveAll(filepath.Join("testdata", "lockproof", filepath.FromSlash(t.Name()))) })
	if lock.Prepare != nil {
		lock.Prepare()
	}
	if lock.Dials {
		options = append(options, locktest.DialsItself())
	}
	locktest.Run(t, lock.New, append(options, append([]locktest.Option{locktest.Named(lock.Name)}, lock.Options...)...)...)
}

// onReal has the options for real servers.
func onReal() []locktest.Option {
	if *ttl > 0 {
		return []locktest.Option{locktest.RealTime(), locktest.TTL(*ttl)}
	}
	return []locktest.Option{locktest.RealTime()}
}

// done reports whether a test has results already: `make league` resumes after an interruption.
func done(t *testing.T) bool {
	folder := resultsOf(t)
	if folder == "" {
		return false
	}
	text, err := os.ReadFile(filepath.Join(folder, reports.ResultsFile))
	if err != nil {
		return false
	}
	var has struct{ Scenarios []json.RawMessage }
	if json.Unmarshal(text, &has) != nil || len(has.Scenarios) == 0 { // it ended before a first lease
		return false
	}
	t.Logf("its results are in %s", folder)
	return true
}

// resultsOf is the folder for a test's results, "" if none are wanted.
func resultsOf(t *testing.T) string {
	root := os.Getenv(locktest.ResultsVariable)
	if root == "" {
		return ""
	}
	return filepath.Join(root, filepath.FromSlash(t.Name()))
}

// needCheckout skips a lock without a checkout of its sources.
func needCheckout(t *testing.T, lock Lock) {
	if lock.Checkout != "" && lock.Commit() == "" {
		t.Skipf("%s is no package: %s names a checkout of its repository", lock.Name, lock.Checkout)
	}
}

// work tests a lock of another language: a worker, by the public command line.
func work(t *testing.T, lock Lock, names []string, trials int) {
	needCheckout(t, lock)
	program, err := filepath.Abs(filepath.Join("..", "bin", "lockproof"))
	if err != nil {
		t.Fatal(err)
	}
	out := resultsOf(t)
	if out == "" {
		out = t.TempDir()
	}
	for i, name := range names {
		if filepath.Ext(name) == ".yaml" {
			names[i] = filepath.Join("league", name)
		}
	}
	args := append([]string{"run", "--worker", os.ExpandEnv(lock.Worker), "--on", "local", "--parallel", "2", "--trials",
		strconv.Itoa(trials), "--out", out},
		names...)
	if *ttl > 0 {
		args = append(args, "--ttl", ttl.String())
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "NODE_PATH=/usr/share/nodejs") // Debian's modules, for another node
	said, err := cmd.CombinedOutput()
	t.Logf("%s", said)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && (exit.ExitCode() == 1 || exit.ExitCode() == 4): // a difference, or inconclusive
		t.Fail()
	case err != nil:
		t.Fatalf("%v: %v (make build makes it)", cmd.Args, err)
	}
}
