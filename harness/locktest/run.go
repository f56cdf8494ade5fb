package locktest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual/bubble"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/overlay"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
	"example.org/lockproof/scenarios"
)

// Run runs the scenarios, each as a subtest. build makes the lock of one client. It is called for each client of each
// trial, in child processes, so it must not depend on what the test does elsewhere.
//
// A subtest fails if the lock violates a property that the reference lock keeps, or if its process dies or hangs. It
// is skipped if the scenario does not fit the lock, if the reference fails too, or if the trial decided nothing.
func Run(t *testing.T, build New, options ...Option) {
	t.Helper()
	s, err := applyOptions(t.Name(), options)
	if err != nil {
		t.Fatalf("locktest.%v", err)
	}
	call := nextCall(t)
	if role != nil && !role.matches(call) {
		return
	}
	if k, err := locks.Find(s.name); err == nil && !k.External {
		t.Fatalf("locktest.Named: %s is a lock of Lockproof's own: give yours another name", s.name)
	}
	if role == nil && s.dialsItself && s.on == suite.Local {
		t.Log("the lock dials by itself, and runs on real servers: lockproof test brings it into virtual time, and " +
			"explores it")
	}
	caller := callerOfRun()
	for _, own := range caller.packages {
		if bubble.InPackages(s.leavesBehind, own+".") {
			t.Fatalf("locktest.LeavesBehind: %s is the test's own package: stop its goroutines in Release, or in a Close()", own)
		}
	}
	k := newKind(s, build)
	locks.Register(k)
	if role != nil {
		role.serve()
	}
	r, err := newRun(s, call)
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	r.callSite = caller
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Errorf("locktest: %v", err)
		}
	})
	if err := r.detectAbilities(t.Context(), k); err != nil {
		t.Fatalf("locktest: %v", err)
	}
	r.runReplays(t)
	r.runScenarios(t)
	r.runExplore(t)
	r.summarize(t)
}

type run struct {
	settings
	call         childRole
	callSite     callSite
	children     *suite.Children
	worker       []string // the command line of a client in real time
	folder       string   // for histories
	results      *resultFiles
	abilities    *locks.Abilities
	causes       map[string]string // of the failures so far: the first subtest that failed by each
	hung         int               // hung trials so far
	causesSought int
	differs      map[int][]string // the rows with another answer under that one of the alternatives
}

func newRun(s settings, call childRole) (*run, error) {
	kept, err := openResults(call)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(kept.folder, histories)
	r := &run{settings: s, call: call, causes: map[string]string{}, differs: map[int][]string{}, folder: folder,
		results: kept}
	r.children = &suite.Children{ProgressTimeout: s.progressTimeout, Stderr: os.Stderr}
	if overlay.BuiltIn() { // a library's own goroutines race: on one processor their order differs less often
		r.children.Processors = 1
	}
	return r, r.restartChildren(nil)
}

// restartChildren makes later child processes know the lock's abilities.
func (r *run) restartChildren(found *locks.Abilities) (err error) {
	r.children.Close()
	r.call.Abilities = found
	if r.children.Command, err = r.call.command(); err != nil {
		return err
	}
	asWorker := r.call
	asWorker.Worker = true
	r.worker, err = asWorker.command()
	return err
}

// close writes the results and stops the children.
func (r *run) close() error {
	r.children.Close()
	return r.results.write(r.report())
}

// report covers the trials so far.
func (r *run) report() *reports.Report {
	o := r.options(r.seed, "")
	o.Trials = r.trials
	report := r.results.report(o)
	if r.abilities == nil { // it has never been granted: its servers and belief are not known
		report.Lock.Servers = 0
	}
	report.Lock.Notices = slices.Concat(report.Lock.Notices, r.alternativeNotices())
	return report
}

// options are for one trial; out is the folder for its history.
func (r *run) options(seed uint64, out string) suite.Options {
	return suite.Options{
		Cluster: r.on, Trials: 1, Seed: seed, TTL: r.ttl, Lock: r.name, Out: out, Parallel: 1,
		Retries: suite.DefaultRetries, Choice: cluster.Choice{Worker: r.worker, Server: r.server},
	}
}

func (r *run) runTrial(ctx context.Context, job suite.Job, o suite.Options) (suite.Result, error) {
	return suite.Runner(r.children.Run).One(ctx, job, o)
}

func (r *run) runScenarios(t *testing.T) {
	chosen, err := scenarios.Select(r.settings.scenarios)
	if err != nil {
		t.Fatalf("locktest.Scenarios: %v", err)
	}
	jobs, err := suite.Options{Cluster: r.on, Lock: r.name}.Jobs(chosen)
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	t.Helper()
	fit := 0
	for _, job := range jobs {
		row := r.row(t, job)
		if row.Skipped == "" {
			fit++
		}
		t.Run(job.Scenario.Name, func(t *testing.T) {
			t.Helper()
			if row.Skipped != "" {
				r.results.add(job, row, "")
				r.show(t, job, row, "", false)
				return
			}
			if r.trials == 1 {
				r.trial(t, job, r.seed, true)
				return
			}
			passed := true
			for i := range uint64(r.trials) {
				t.Run(fmt.Sprintf("seed=%d", r.seed+i), func(t *testing.T) {
					t.Helper()
					defer func() { passed = passed && !t.Skipped() }()
					r.trial(t, job, r.seed+i, true)
				})
			}
			if !passed && !t.Failed() {
				t.Skip("not every trial holds")
			}
		})
	}
	if fit == 0 {
		t.Errorf("locktest: none of the scenarios chosen can be run with this lock on the %s cluster: go test -v says why",
			r.on)
	}
}

// row is a row's result before its first trial. It is skipped, with the reason, if the scenario does not run.
func (r *run) row(t *testing.T, job suite.Job) suite.Result {
	t.Helper()
	row := r.options(r.seed, "").Row(job)
	if row.Failure != "" {
		t.Fatalf("locktest: %s", row.Failure)
	}
	expected := func(p string) bool { return job.Scenario.Expect[p] != "" }
	if row.Skipped == "" && len(r.properties) > 0 && !slices.ContainsFunc(r.properties, expected) {
		row.Skipped = "it expects nothing of " + strings.Join(r.properties, ", ")
	}
	return row
}

// maxHung bounds the hung trials of a test: each takes as long as the progress timeout.
const maxHung = 3

// trial runs one trial as a subtest. With record, it records the first failure of each cause for replays.
func (r *run) trial(t *testing.T, job suite.Job, seed uint64, record bool) {
	t.Helper()
	if r.hung >= maxHung {
		t.Skipf("not run: %d trials have hung", r.hung)
	}
	out := filepath.Join(r.folder, filepath.FromSlash(strings.TrimPrefix(t.Name(), r.call.Test+"/")))
	done, err := r.runTrial(t.Context(), job, r.options(seed, out))
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	if done.Hung {
		r.hung++
	}
	r.filterProperties(&done)
	if err := r.findCause(t.Context(), job, &done); err != nil {
		t.Fatalf("locktest: %v", err)
	}
	r.results.add(job, done, out)
	if record && seed == r.seed {
		if err := r.compareAlternatives(t.Context(), job, done); err != nil {
			t.Fatalf("locktest: %v", err)
		}
	}
	r.show(t, job, done, out, record)
}

// filterProperties removes the results of properties that were not chosen.
func (r *run) filterProperties(done *suite.Result) {
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
