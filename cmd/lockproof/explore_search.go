package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"example.org/lockproof/explore"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
	"example.org/lockproof/scenarios"
)

// explore searches, writes the finds, and reports on them as run does.
func (p *program) explore(ctx context.Context, x *exploreOptions) error {
	if x.worker == "" {
		pool, err := p.pool(suite.Options{Cluster: suite.Virtual})
		if err != nil {
			return failed(err)
		}
		x.search.Try, x.search.Parallel, x.search.Kinds = pool.Try, pool.Size(), pool.FaultKinds
	}
	s := &x.search
	before, err := p.resumeSearch(x)
	if err != nil {
		return err
	}
	folder, err := openOutFolder(x.options.Out, before.Next > 0)
	if err != nil {
		return err
	}
	defer folder.Close()
	run := reports.Run{Options: x.options, Named: true, Version: version(), Go: runtime.Version(), Started: time.Now()}
	written, err := folder.Begin(run)
	if err != nil {
		return failed(err)
	}
	defer written.End()
	ctx, stop := p.interruptible(ctx)
	defer stop()
	line := explore.Tally{}.Line()
	display := p.display(func(int) []string { return []string{line} })
	s.OnProgress = func(t explore.Tally) { display.update(func() { line = t.Line() }) }
	s.OnSave = func(t explore.Tally) { _ = x.save(t) } // concludeSearch reports an error
	tally, err := s.Resume(ctx, before)
	display.finish()
	if err != nil {
		return failed(err)
	}
	return p.concludeSearch(ctx, x, tally, run)
}

// resumeSearch reads the results of an interrupted search from the output folder, if it is the same
// search, and announces the resumption.
func (p *program) resumeSearch(x *exploreOptions) (explore.Tally, error) {
	out := x.options.Out
	before, err := explore.Read(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return explore.Tally{}, nil
	case err != nil:
		return explore.Tally{}, usage("--out %s: %w: remove it, or give another folder", out, err)
	}
	what := ""
	switch {
	case before.Tally.Next == 0:
		return explore.Tally{}, nil
	case !before.Same(x.results(explore.Tally{})):
		what = "the results of another search, program or version"
	case !x.search.Remaining(before.Tally):
		what = "all that this search asks for"
	}
	if earlier := (explore.Search{Question: before.Question}); what != "" {
		if earlier.Remaining(before.Tally) { // it was interrupted, or had a limit of time
			fmt.Fprintf(p.err, "lockproof: %s has %s: this search starts from the beginning\n", out, what)
		}
		return explore.Tally{}, nil
	}
	next := fmt.Sprintf("seed %d", x.search.Seed+uint64(before.Tally.Next))
	if x.exhaust { // one seed for all
		next = fmt.Sprintf("number %d", before.Tally.Next)
	}
	if x.worker != "" {
		next += "; if a file that the program loads has changed, give another --out"
	}
	fmt.Fprintf(p.err, "lockproof: %s has %d schedules of this search: it continues with %s\n", out,
		before.Tally.Schedules, next)
	return before.Tally, nil
}

func (x *exploreOptions) results(t explore.Tally) explore.Results {
	return explore.Results{Version: version(), Question: x.search.Question, Tally: t}
}

func (x *exploreOptions) save(t explore.Tally) error {
	return reports.WriteFile(x.options.Out, reports.File{Name: explore.ResultsFile, Write: x.results(t).Write})
}

// concludeSearch prints and writes the results of a search, and returns its exit code.
func (p *program) concludeSearch(ctx context.Context, x *exploreOptions, t explore.Tally, run reports.Run) error {
	fmt.Fprintln(p.out, strings.Join(wrapped(strings.TrimSpace(x.search.Summary(t)), p.screen.Width), "\n"))
	err := x.save(t)
	switch {
	case len(t.Finds) > 0: // whatever happens to them now
		return &exit{reports.ExitDiffers, errors.Join(err, p.showFinds(ctx, x, t, run))}
	case err != nil:
		return failed(err)
	case len(t.Failed) > 0:
		return failed(t.Failure())
	case ctx.Err() != nil || t.Undecided != "" || !x.search.Tested(t):
		return &exit{code: reports.ExitInconclusive}
	}
	return nil
}

// showFinds writes each find's file, runs it as lockproof run does, and reports on all finds.
func (p *program) showFinds(ctx context.Context, x *exploreOptions, tally explore.Tally, run reports.Run) error {
	run.Started = time.Now()
	var trials []suite.Result
	var known []*scenarios.Scenario
	var jobs []suite.Job
	for _, f := range tally.Finds {
		path, found, err := x.search.Write(f, filepath.Join(x.options.Out, "found"))
		if err != nil {
			return err
		}
		o := run.Options
		o.Seed = f.Seed
		job := suite.Job{Scenario: found, Lock: x.search.Space.Lock, Without: x.search.Space.Without, AllowBetter: true}
		results, err := p.suite(context.WithoutCancel(ctx), []suite.Job{job}, o, func(suite.Result) {})
		if err != nil {
			return err
		}
		trials, known, jobs = append(trials, results...), append(known, found), append(jobs, job)
		fmt.Fprintf(p.out, "%s: %d steps, shrunk from %d\n  reproduce: %s\n", f.FindID, len(f.Shrunk.Steps),
			len(f.Drawn.Steps), x.search.Repeat(f, path))
	}
	if err := p.findCauses(ctx, jobs, trials, run.Options); err != nil {
		return err
	}
	run.Planned, run.Elapsed, run.Lock = len(trials), time.Since(run.Started), reports.AboutLock(x.search.Space.Lock)
	report := reports.New(trials, run)
	err := p.report(report, known)
	if report.ExitCode() != reports.ExitDiffers { // in real time a violation need not recur
		fmt.Fprint(p.out, "The violation that the search found did not recur in this run.\n")
	}
	return errors.Unwrap(err) // without the run's exit code
}
