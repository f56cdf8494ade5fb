package league

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockproof/harness/locktest"
)

// What may be asked for besides: go test -run 'TestLeague/redsync' -on local -trials 10 -scenarios late-release
var (
	explore = flag.Duration("explore", time.Minute, "for how long to explore each lock on several servers")
	on      = flag.String("on", "", "local: real servers for all, and not only for locks that dial by themselves")
	trials  = flag.Int("trials", 1, "how many trials of each scenario")
	chosen  = flag.String("scenarios", "", "names or files of scenarios, with commas between them")
)

// inRealTime are the scenarios for locks that dial by themselves: each takes seconds there.
var inRealTime = []string{
	"healthy-contention", "slow-acquire", "pause-in-acquire", "late-release", "late-set", "lost-reply", "resent-set", "hung-node",
	"minority-down", "late-extension", "watchdog-cut-off", "delayed-restart", "cancelled-acquire", "holder-crashes",
	"release-by-plain-del", "release-by-get-then-del", "setnx-then-expire", "shared-lock-object", "opposite-order",
	"extend-without-owner", "extend-too-late", "drift-within-margin",
}

// own are the league's own scenarios: the least that shows what was found.
func own(t *testing.T) []string {
	files, err := filepath.Glob(filepath.Join("scenarios", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the league's own scenarios: %v", err)
	}
	return files
}

// TestLeague is every lock over the catalogue. A lock that breaks fails its subtest: this
// is not a test of Lockproof's, but how the table is made.
func TestLeague(t *testing.T) {
	for _, lock := range All() {
		if lock.Unjudged != "" {
			continue
		}
		t.Run(lock.Test, func(t *testing.T) {
			options := []locktest.Option{locktest.Trials(*trials)}
			names := strings.Split(*chosen, ",")
			if *chosen == "" {
				names = append(own(t), "*")
				switch {
				case lock.Only != nil:
					names = lock.Only
				case lock.RealTime:
					names = append(own(t), inRealTime...)
				}
			}
			options = append(options, locktest.Scenarios(names...))
			if lock.RealTime || *on == "local" {
				options = append(options, locktest.RealTime())
			}
			run(t, lock, options)
		})
	}
}

// TestExplored draws schedules that nobody scripted, and looks for two holders at once. Locks
// on one server are left out, and so are those that dial by themselves.
func TestExplored(t *testing.T) {
	for _, lock := range All() {
		if lock.RealTime || lock.NoExplore || lock.On != several {
			continue
		}
		t.Run(lock.Test, func(t *testing.T) {
			run(t, lock, []locktest.Option{locktest.Scenarios("healthy-contention"), locktest.Properties("mutual-exclusion"),
				locktest.Explore(*explore), locktest.ProgressTimeout(20 * time.Second)})
		})
	}
}

// TestConfirmed is every finding on real servers, ten times: before that, no cross is
// published. -on "" leaves it in virtual time.
func TestConfirmed(t *testing.T) {
	for _, lock := range All() {
		var names []string
		for _, f := range lock.Findings {
			names = append(names, f.Confirm...)
		}
		if len(names) == 0 {
			continue
		}
		t.Run(lock.Test, func(t *testing.T) {
			run(t, lock, []locktest.Option{locktest.Scenarios(names...), locktest.RealTime(), locktest.Trials(max(*trials, confirmations))})
		})
	}
}

// confirmations is how often a finding is tried on real servers.
const confirmations = 10

func run(t *testing.T, lock Lock, options []locktest.Option) {
	// The next run is to begin with the catalogue, and not with what this one has found.
	t.Cleanup(func() { os.RemoveAll(filepath.Join("testdata", "lockproof", filepath.FromSlash(t.Name()))) })
	if lock.Prepare != nil {
		lock.Prepare()
	}
	locktest.Run(t, lock.New, append(options, append([]locktest.Option{locktest.Named(lock.Name)}, lock.Options...)...)...)
}
