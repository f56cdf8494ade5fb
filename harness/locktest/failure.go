package locktest

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockproof/harness/suite"
	"lockproof/reports"
	"lockproof/reports/html"
	"lockproof/scenarios"
)

// screen is for a test's output.
var screen = reports.Screen{Width: 110, UTF8: true}

// account tells of a trial that failed: what was violated, with its story and
// picture, where its history is, and how to see it again.
func (r *run) account(job suite.Job, done suite.Result, why, out string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", why)
	if done.History != "" {
		path := filepath.Join(out, done.History)
		if text, err := story(path); err != nil {
			fmt.Fprintf(&b, "its history cannot be told: %v\n", err)
		} else {
			b.WriteString(text + "\n")
		}
		fmt.Fprintf(&b, "history: %s\n", path)
		if err := page(job, done, out); err != nil {
			fmt.Fprintf(&b, "no page: %v\n", err)
		} else {
			fmt.Fprintf(&b, "page:    %s\n", filepath.Join(out, reports.PageFile))
		}
	}
	return b.String()
}

// story tells a history as lockproof check does.
func story(path string) (string, error) {
	h, err := reports.OpenHistory(path)
	if err != nil {
		return "", err
	}
	verdict, err := h.Verdict()
	if err != nil {
		return "", err
	}
	return reports.VerdictText(h, verdict, screen)
}

// page writes report.html, and the picture beside the history.
func page(job suite.Job, done suite.Result, out string) error {
	report := reports.New([]suite.Result{done}, reports.Run{Options: suite.Options{Cluster: done.Cluster, Trials: 1, Out: out}})
	return reports.WriteFile(out, reports.File{Name: reports.PageFile, Write: func(w io.Writer) error {
		return html.Write(w, report, []*scenarios.Scenario{job.Scenario})
	}})
}

// artifactsKept says whether go test keeps what tests leave.
func artifactsKept() bool {
	f := flag.Lookup("test.artifacts")
	return f != nil && f.Value.String() == "true"
}

// schedulesFolder has the schedules that have broken a lock.
var schedulesFolder = filepath.Join("testdata", "lockproof")

// replay is what a recorded schedule says beside the scenario.
type replay struct {
	Seed    uint64        `json:"seed"`
	Variant string        `json:"variant,omitempty"`
	TTL     time.Duration `json:"ttl,omitempty"`
}

// replayMark begins the line of a schedule's file that has the replay.
const replayMark = "# replay: "

// schedules is the folder for this test's.
func (r *run) schedules() string {
	return filepath.Join(schedulesFolder, filepath.FromSlash(r.call.Test))
}

// record writes the schedule that broke the lock, to be replayed first from now on.
func (r *run) record(t *testing.T, job suite.Job, seed uint64, why string) {
	text, err := scenarios.Text(job.Scenario)
	if err != nil {
		t.Errorf("locktest: the schedule cannot be recorded: %v", err)
		return
	}
	what, err := json.Marshal(replay{Seed: seed, Variant: job.Variant, TTL: r.ttl})
	if err != nil {
		t.Errorf("locktest: the schedule cannot be recorded: %v", err)
		return
	}
	path := filepath.Join(r.schedules(), fmt.Sprintf("%s-seed-%d.yaml", job.Scenario.Name, seed))
	head := fmt.Sprintf("# Broke %s: %s\n# It is replayed before anything else, for as long as this file is there.\n%s%s\n\n",
		r.name, strings.Join(strings.Fields(why), " "), replayMark, what)
	err = os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, append([]byte(head), text...), 0o644)
	}
	if err != nil { // a test may be run where nothing can be written
		t.Logf("the schedule was not recorded: %v", err)
		return
	}
	t.Logf("schedule, replayed first from now on: %s", path)
}

// replays runs the schedules that were recorded.
func (r *run) replays(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(r.schedules(), "*.yaml"))
	if err != nil || len(paths) == 0 {
		return
	}
	t.Run("replay", func(t *testing.T) {
		for _, path := range paths {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) { r.replay(t, path) })
		}
	})
}

func (r *run) replay(t *testing.T, path string) {
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
	at := *r
	at.ttl = known.TTL
	job := suite.Job{Scenario: s, Variant: known.Variant, Lenient: true, Lock: r.name}
	if why := at.skips(t, job); why != "" {
		t.Skip(why)
	}
	at.trial(t, job, known.Seed, false)
	r.failed, r.hung = at.failed, at.hung
}
