package locktest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/lockproof/harness/interleave"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
	"example.org/lockproof/reports/terminal"
)

// Verdict is what Expect accepts of a scenario.
type Verdict string

// Violated: the scenario is known to break the lock.
const Violated Verdict = "violated"

// show reports a trial's answer to go test: a bug fails the subtest; a limit, an undecided or an inapplicable trial
// skips it, with the reason.
func (r *run) show(t *testing.T, job suite.Job, done suite.Result, out string, record bool) {
	t.Helper()
	answer, why := done.Answer()
	_, known := r.expected[job.Scenario.Name]
	if known {
		r.expected[job.Scenario.Name] = true
	}
	switch {
	case answer == suite.Bug && known:
		t.Skip("EXPECTED: " + why)
	case known && (answer == suite.Holds || answer == suite.Limit):
		t.Errorf("%s is expected to be violated, and is not any more (%s): take Expect(%q, locktest.Violated) out",
			job.Scenario.Name, why, job.Scenario.Name)
	case answer == suite.Bug, answer == suite.Failed:
		r.callSite.annotate(os.Stdout, os.Getenv("GITHUB_WORKSPACE"), r.name+": "+job.Scenario.Name, why)
		t.Error(r.failureOf(t, job, done, why, out, record))
	case answer == suite.Limit && r.strict:
		t.Error(limitText(done, why))
	case answer == suite.Limit:
		t.Skip(limitText(done, why))
	case answer == suite.Undecided:
		t.Skip("UNDECIDED: " + why)
	case answer == suite.NotApplicable:
		t.Skip("NOT APPLICABLE: " + why)
	}
}

func limitText(done suite.Result, why string) string {
	text := "LIMIT: " + why
	if len(done.Remedies) > 0 {
		text += "; what removes it: " + strings.Join(done.Remedies, ", or ")
	}
	return text
}

// failureOf describes a failure, in one line if an earlier failure was of the same kind.
func (r *run) failureOf(t *testing.T, job suite.Job, done suite.Result, why, out string, record bool) string {
	cause, _ := done.Cause()
	name := strings.TrimPrefix(t.Name(), r.call.Test+"/")
	if earlier, known := r.causes[cause.Key]; known && done.Failure != "" {
		return fmt.Sprintf("FAILED: as in %s: %s", earlier, why)
	} else if known {
		return fmt.Sprintf("BUG: %s (%s: %s)", why, cause.As(earlier), cause.Sentence)
	}
	r.causes[cause.Key] = name
	recorded := ""
	if record {
		recorded = r.record(job, done.Seed, why)
	}
	return r.failureText(done, why, out, recorded)
}

// screen is the width of a test's output.
var screen = terminal.Screen{Width: 110}

// failureLines bounds the lines of one failure.
const failureLines = 25

// failureText describes a failed trial: the violation with its story and drawing, the paths of its history and of the
// recorded schedule.
func (r *run) failureText(done suite.Result, why, out, recorded string) string {
	lines := []string{"BUG: " + why}
	if done.Failure != "" {
		lines[0] = "FAILED: " + why
	}
	var where []string
	if done.History != "" {
		path := filepath.Join(out, done.History)
		where = append(where, "history:  "+path)
		text, err := story(path, done)
		if err != nil {
			text = fmt.Sprintf("no drawing: %v", err)
		}
		lines = append(lines, cutLines(text, failureLines-len(lines)-len(where)-1)...)
	}
	if recorded != "" {
		where = append(where, recorded)
	}
	return strings.Join(append(lines, where...), "\n")
}

// cutLines returns at most the given number of lines.
func cutLines(text string, most int) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) <= most {
		return lines
	}
	return append(lines[:most-1:most-1], "… (all of it is on the page)")
}

// story describes a trial's decisive violation, with its cause and drawing.
func story(path string, done suite.Result) (string, error) {
	r := done.Decisive()
	if r == nil {
		return "", nil
	}
	h, err := reports.OpenHistory(path)
	if err != nil {
		return "", err
	}
	return reports.ViolationText(h, r, done.CauseOf(r.Property), screen), nil
}

// maxCauses bounds the bugs whose cause is searched for.
const maxCauses = 8

// findCause finds a bug's cause by experiments in virtual time.
func (r *run) findCause(ctx context.Context, job suite.Job, done *suite.Result) error {
	decisive := done.Decisive()
	if answer, _ := done.Answer(); answer != suite.Bug || decisive == nil || done.CauseOf(decisive.Property) != nil ||
		r.on != suite.Virtual || r.causesSought >= maxCauses {
		return nil
	}
	r.causesSought++
	if len(done.Waits) == 0 {
		job.Waits = &[]interleave.Wait{} // it needs none
	}
	job.Message = done.Message
	pool, err := r.children.Pool(r.options(done.Seed, ""))
	if err != nil {
		return err
	}
	c, err := pool.Cause(ctx, job, done.Seed, decisive.Property)
	if err == nil {
		done.Explain(c)
	}
	return err
}

// summarize logs the answers of all rows.
func (r *run) summarize(t *testing.T) {
	t.Helper()
	if len(r.results.trials) == 0 {
		return
	}
	for name, ran := range r.expected {
		if !ran {
			t.Errorf("locktest.Expect: no scenario %q was run", name)
		}
	}
	t.Log("\n" + r.report().AnswersText(screen) + r.directions(t))
}

// directions name the report's path and the command that repeats one row.
func (r *run) directions(t *testing.T) string {
	example := "late-release"
	for _, row := range r.report().Rows {
		if row.Answer == suite.Bug {
			example = row.Scenario
			break
		}
	}
	return fmt.Sprintf("details: %s      repeat one: go test -run '%s/%s'",
		filepath.Join(r.results.shown, reports.PageFile), t.Name(), example)
}
