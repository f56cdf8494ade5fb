package locktest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/scenarios"
)

// schedulesFolder has the schedules that broke a lock.
var schedulesFolder = filepath.Join("testdata", "lockproof")

// replay is the part of a recorded schedule that its scenario does not contain.
type replay struct {
	Seed    uint64        `json:"seed"`
	Variant string        `json:"variant,omitempty"`
	TTL     time.Duration `json:"ttl,omitempty"`
}

// replayMark begins the replay's line in a schedule's file.
const replayMark = "# replay: "

// schedules is the folder of this test's recorded schedules.
func (r *run) schedules() string {
	return filepath.Join(schedulesFolder, filepath.FromSlash(r.call.Test))
}

// record writes the schedule that broke the lock, for runReplays, and returns a line with its path.
func (r *run) record(job suite.Job, seed uint64, why string) string {
	text, err := scenarios.Text(job.Scenario)
	if err != nil {
		return fmt.Sprintf("the schedule cannot be recorded: %v", err)
	}
	what, err := json.Marshal(replay{Seed: seed, Variant: job.Variant, TTL: r.ttl})
	if err != nil {
		return fmt.Sprintf("the schedule cannot be recorded: %v", err)
	}
	path := filepath.Join(r.schedules(), fmt.Sprintf("%s-seed-%d.yaml", job.Scenario.Name, seed))
	head := fmt.Sprintf("# Broke %s: %s\n# It is replayed before anything else, for as long as this file is "+
		"there.\n%s%s\n\n",
		r.name, strings.Join(strings.Fields(why), " "), replayMark, what)
	err = os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, append([]byte(head), text...), 0o644)
	}
	if err != nil { // a test may run in a read-only folder
		return fmt.Sprintf("the schedule was not recorded: %v", err)
	}
	return "schedule: " + path + " (replayed first from now on)"
}

func (r *run) runReplays(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(r.schedules(), "*.yaml"))
	if err != nil || len(paths) == 0 {
		return
	}
	t.Helper()
	t.Run("replay", func(t *testing.T) {
		t.Helper()
		for _, path := range paths {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
				t.Helper()
				r.runReplay(t, path)
			})
		}
	})
}

func (r *run) runReplay(t *testing.T, path string) {
	t.Helper()
	s, err := scenarios.Load(path)
	if err != nil {
		t.Fatalf("%v\ndelete the file if it cannot be mended", err)
	}
	text, err := scenarios.Text(s)
	if err != nil {
		t.Fatal(err)
	}
	var known replay
	_, rest, marked := strings.Cut("\n"+string(text), "\n"+replayMark)
	line, _, _ := strings.Cut(rest, "\n")
	if err := json.Unmarshal([]byte(line), &known); !marked || err != nil {
		t.Fatalf("%s: no line %q with the seed, as in %s{\"seed\":7}", path, replayMark, replayMark)
	}
	defer func(ttl time.Duration) { r.ttl = ttl }(r.ttl)
	r.ttl = known.TTL
	job := suite.Job{Scenario: s, Variant: known.Variant, AllowBetter: true, Lock: r.name}
	if row := r.row(t, job); row.Skipped != "" {
		t.Skip(row.Skipped)
	}
	r.trial(t, job, known.Seed, false)
}
