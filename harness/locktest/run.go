package locktest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockproof/checker"
	"lockproof/harness/locks"
	"lockproof/harness/suite"
	"lockproof/scenarios"
)

// Run puts a lock through the scenarios, each a subtest. build makes the lock of one
// client: it is called for each client of each trial, in processes of their own, so
// that it must not depend on what the test does elsewhere.
//
// A subtest fails if a property is violated that the reference lock keeps, or if
// its process dies or hangs. It is skipped if the lock lacks what the scenario
// needs, or the trial was inconclusive: then it has shown nothing.
func Run(t *testing.T, build New, options ...Option) {
	t.Helper()
	s, err := settle(t.Name(), options)
	if err != nil {
		t.Fatalf("locktest.%v", err)
	}
	call := identify(t)
	if given != nil && !given.is(call) {
		return
	}
	if k, err := locks.Find(s.name); err == nil && !k.Foreign {
		t.Fatalf("locktest.Named: %s is a lock of Lockproof's own: give yours another name", s.name)
	}
	k := kind(s.name, build, s.belief)
	if given != nil {
		if given.Found != nil {
			k = k.With(*given.Found)
		}
		locks.Register(k)
		given.play()
	}
	locks.Register(k)
	r, err := newRun(s, call)
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Errorf("locktest: %v", err)
		}
	})
	found, err := r.firstLease(t.Context())
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	k = k.With(*found)
	locks.Register(k)
	if err := r.know(found); err != nil {
		t.Fatalf("locktest: %v", err)
	}
	r.replays(t)
	r.scenarios(t)
	r.explores(t)
}

// run is one call of Run.
type run struct {
	settings
	call     part
	children *suite.Children
	worker   []string // the command line of a client in real time
	folder   string   // takes histories
	kept     *kept    // for others
	failed   bool     // something is there to be looked at
	hung     int      // trials so far
}

func newRun(s settings, call part) (*run, error) {
	kept, err := keep(call)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(kept.folder, histories)
	if kept.folder == "" {
		if folder, err = os.MkdirTemp("", "lockproof-"+suite.Slug(s.name)+"-"); err != nil {
			return nil, err
		}
	}
	r := &run{settings: s, call: call, folder: folder, kept: kept}
	r.children = &suite.Children{ProgressTimeout: s.progressTimeout, Said: os.Stderr}
	return r, r.know(nil)
}

// know lets the children that are started from now on know what was found out.
func (r *run) know(found *locks.Abilities) (err error) {
	r.children.Close()
	r.call.Found = found
	if r.children.Command, err = r.call.command(); err != nil {
		return err
	}
	asWorker := r.call
	asWorker.Worker = true
	r.worker, err = asWorker.command()
	return err
}

// close leaves what others are to have, and ends the rest.
func (r *run) close() error {
	r.children.Close()
	if r.kept.folder == "" && !r.failed {
		_ = os.RemoveAll(r.folder) // it is in the folder for temporary files
	}
	o := r.options(r.seed, "")
	o.Trials = r.trials
	return r.kept.write(o)
}

// options are those of one trial that keeps its history in a folder.
func (r *run) options(seed uint64, out string) suite.Options {
	return suite.Options{
		Cluster: r.on, Trials: 1, Seed: seed, TTL: r.ttl, Lock: r.name, Out: out, Parallel: 1,
		Retries: suite.DefaultRetries, Worker: r.worker,
	}
}

// one runs one trial.
func (r *run) one(ctx context.Context, job suite.Job, o suite.Options) (suite.Result, error) {
	trials, err := r.children.Run(ctx, []suite.Job{job}, o, func(suite.Result) {})
	if err != nil {
		return suite.Result{}, err
	}
	if len(trials) == 0 {
		return suite.Result{}, fmt.Errorf("the trial was not run: %w", context.Cause(ctx))
	}
	return trials[0], nil
}

// scenarios runs all that were chosen.
func (r *run) scenarios(t *testing.T) {
	chosen, err := scenarios.Select(r.settings.scenarios)
	if err != nil {
		t.Fatalf("locktest.Scenarios: %v", err)
	}
	jobs, err := suite.Options{Cluster: r.on, Lock: r.name}.Jobs(chosen)
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	fit := 0
	for _, job := range jobs {
		why := r.skips(t, job)
		if why == "" {
			fit++
		}
		t.Run(job.Scenario.Name, func(t *testing.T) {
			if why != "" {
				r.kept.note(job, suite.Result{
					Scenario: job.Scenario.Name, Variant: job.Variant, Cluster: r.on, Seed: r.seed, Lock: r.name, Skipped: why,
				}, "")
				t.Skip(why)
			}
			for i := range uint64(r.trials) {
				t.Run(fmt.Sprintf("seed=%d", r.seed+i), func(t *testing.T) { r.trial(t, job, r.seed+i, true) })
			}
		})
	}
	if fit == 0 {
		t.Errorf("locktest: none of the scenarios chosen can be run with this lock on the %s cluster: go test -v says why", r.on)
	}
}

// skips says why a scenario is not run, "" if it is.
func (r *run) skips(t *testing.T, job suite.Job) string {
	why, err := suite.Options{Cluster: r.on, TTL: r.ttl}.Skips(job)
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	expected := func(p string) bool { return job.Scenario.Expect[p] != "" }
	if why == "" && len(r.properties) > 0 && !slices.ContainsFunc(r.properties, expected) {
		why = "it expects nothing of " + strings.Join(r.properties, ", ")
	}
	return why
}

// hungAtMost is how many trials may hang before no other is run: each takes as long
// as the progress timeout.
const hungAtMost = 3

// trial runs one trial as a subtest; a failure is recorded for replays if it is
// new.
func (r *run) trial(t *testing.T, job suite.Job, seed uint64, record bool) {
	if r.hung >= hungAtMost {
		t.Skipf("not run: %d trials have hung", r.hung)
	}
	out := r.artifacts(t)
	done, err := r.one(t.Context(), job, r.options(seed, out))
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	if done.Hung {
		r.hung++
	}
	r.judgeOnly(&done)
	r.kept.note(job, done, out)
	switch standing, why := done.Standing(); standing {
	case suite.Skipped:
		t.Skip(why)
	case suite.Undecided:
		t.Skip("inconclusive, which shows nothing: " + why)
	case suite.Differs, suite.HarnessError:
		r.failed = true
		t.Error(r.account(job, done, why, out))
		if record {
			r.record(t, job, seed, why)
		}
	}
}

// artifacts is the folder for what a subtest leaves: Go's own where it keeps that.
func (r *run) artifacts(t *testing.T) string {
	if r.kept.folder == "" && artifactsKept() {
		return t.ArtifactDir()
	}
	return filepath.Join(r.folder, filepath.FromSlash(strings.TrimPrefix(t.Name(), r.call.Test+"/")))
}

// judgeOnly leaves the properties that were chosen.
func (r *run) judgeOnly(done *suite.Result) {
	if len(r.properties) == 0 {
		return
	}
	done.Results = slices.DeleteFunc(slices.Clone(done.Results), func(result checker.Result) bool {
		return !slices.Contains(r.properties, result.Property)
	})
	kept := map[string]string{}
	for _, p := range checker.Names() {
		if verdict := done.Expect[p]; verdict != "" && slices.Contains(r.properties, p) {
			kept[p] = verdict
		}
	}
	done.Expect = kept
}
