package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockproof/checker"
	"lockproof/explore"
	"lockproof/harness/locks"
	"lockproof/harness/suite"
	"lockproof/reports"
	"lockproof/scenarios"
)

// exploring is what the command explore is asked for.
type exploring struct {
	search  explore.Search
	breaks  []string
	confirm int
	slice   string
	out     string
	found   string
}

func (p *program) exploreCommand() *cobra.Command {
	x := exploring{search: explore.Search{Space: explore.Space{Strategy: explore.Swarm}}}
	cmd := &cobra.Command{
		Use:   "explore",
		Short: "Search for schedules of faults that break a lock",
		Long: `Draws schedules of operations and faults, runs each in virtual time, and judges every
property. One that breaks something is made as small as it can be and written down
as a scenario file, which lockproof run repeats.

What is drawn keeps to what a lock on several nodes takes on trust, unless --break
names it:
` + assumptionHelp() + `
What a correct lock has to survive is drawn always: messages that are late, lost or
out of order, partitions, clients and nodes that pause, crash and come back with
their disks, cancelled calls, clocks that differ by the drift factor.

Exit codes: 0 nothing was violated; 1 something was; 2 nothing was, but the search was
cut short or a schedule could not be judged; 3 the harness itself failed; 64 bad usage.`,
		Example: `  lockproof explore --lock redsync
  lockproof explore --without FreshToken --for 1m
  lockproof explore --break pauses --property protected-data
  lockproof explore --lock redsync --confirm 10
  lockproof explore --schedules 1000000 --slice 17/100 --out out/17`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := x.check(cmd.Flags().Changed); err != nil {
				return err
			}
			return p.explore(cmd.Context(), &x)
		},
	}
	f, s := cmd.Flags(), &x.search
	f.SortFlags = false
	f.StringVar(&s.Space.Lock, "lock", locks.Reference, "lock under test: "+strings.Join(locks.Names(), ", "))
	f.StringSliceVar(&s.Space.Without, "without", nil, "rule of the reference to switch off; more with commas or again")
	f.StringSliceVar(&x.breaks, "break", nil, "assumption that schedules need not keep to: memory, clocks, pauses, servers")
	f.StringSliceVar(&s.Space.Properties, "property", nil, "property whose violation counts (default: each)")
	f.DurationVar(&s.For, "for", 20*time.Second, "for how long to search, in real time; 0: until --schedules")
	f.IntVar(&s.Schedules, "schedules", 0, "how many schedules to run at most (default: as many as there is time for)")
	f.IntVar(&s.Enough, "enough", 0, "end once so many different violations were found (default: go on)")
	f.Uint64Var(&s.Seed, "seed", 1, "seed of the first schedule; each further one adds 1")
	f.DurationVar(&s.Space.TTL, "ttl", time.Second, "the lock's TTL, 100ms to 10m")
	f.DurationVar(&s.Shrink, "shrink", 30*time.Second, "for how long to make one find smaller, in real time")
	f.IntVar(&x.confirm, "confirm", 0, "run each find so many times on real servers, by --on local")
	f.StringVar(&x.slice, "slice", "", "search one part of several, as in 17/100, auto or auto/100 (default: the whole)")
	f.StringVar(&x.out, "out", "out", "folder for results and histories")
	f.StringVar(&x.found, "found", "", "folder for the scenario files of what is found (default: found, in --out)")
	return cmd
}

func assumptionHelp() string {
	var b strings.Builder
	for _, a := range explore.Assumptions() {
		fmt.Fprintf(&b, "  %-9s%s\n", a.Assumption, a.Says)
	}
	return b.String()
}

// check refuses what lies out of bounds or does not exist.
func (x *exploring) check(given func(string) bool) error {
	s := &x.search
	o := suite.Options{Cluster: suite.Virtual, Trials: 1, TTL: s.Space.TTL, Lock: s.Space.Lock, Without: s.Space.Without, Out: x.out}
	if err := checkOptions(&o, given); err != nil {
		return err
	}
	s.Space.Without = o.Without
	kind, err := locks.Find(s.Space.Lock)
	switch {
	case err != nil:
		return usage("--lock: %w", err)
	case len(s.Space.Without) > 0 && !kind.Rules:
		return usage("--without: the lock %s has no rules to switch off: the reference %s has", kind.Name, locks.Reference)
	case kind.SingleNode:
		return usage("--lock %s: it uses one node, and schedules are drawn for locks on several", kind.Name)
	case s.For < 0 || s.Schedules < 0 || s.Enough < 0 || s.Shrink < 0 || x.confirm < 0:
		return usage("a bound below 0: give 0 for none")
	case s.For == 0 && s.Schedules == 0:
		return usage("--for 0 without --schedules would never end: give one of them")
	}
	if err := x.checkNames(); err != nil {
		return err
	}
	if given("slice") {
		if s.Slice, err = suite.FindSlice(x.slice, os.Getenv); err != nil {
			return usage("--slice %w", err)
		}
		if s.Schedules == 0 {
			return usage("--slice %s needs --schedules: the parts are of so many", x.slice)
		}
	}
	if given("schedules") && !given("for") {
		s.For = 0
	}
	if x.found == "" {
		x.found = filepath.Join(x.out, "found")
	}
	return nil
}

// checkNames reads the assumptions and properties that are named.
func (x *exploring) checkNames() error {
	s := &x.search
	for _, name := range x.breaks {
		a, err := explore.ParseAssumption(name)
		if err != nil {
			return usage("--break %w", err)
		}
		s.Space.Break = append(s.Space.Break, a)
	}
	for _, name := range s.Space.Properties {
		if !slices.Contains(checker.Names(), name) {
			return usage("--property %s: there is no such property: %s", name, suggest(name, checker.Names()))
		}
	}
	return nil
}

// explore searches, writes down what it finds, and reports as a run of that would.
func (p *program) explore(ctx context.Context, x *exploring) error {
	s := &x.search
	pool, err := p.pool(suite.Options{Cluster: suite.Virtual, States: true})
	if err != nil {
		return failed(err)
	}
	defer pool.Close()
	folder, err := p.folder(x.out)
	if err != nil {
		return err
	}
	defer folder.Close()
	run := reports.Run{Options: suite.Options{Cluster: suite.Virtual, Trials: 1, Seed: s.Seed, Out: x.out, Lock: s.Space.Lock},
		Named: true, Version: version(), Go: runtime.Version(), Started: time.Now()}
	written, err := folder.Begin(run)
	if err != nil {
		return failed(err)
	}
	defer written.End()
	ctx, stop := p.interruptible(ctx)
	defer stop()
	s.Try, s.Side = pool.Try, pool.Size()
	stages := p.stages()
	s.Observe = func(t explore.Tally) { stages.say(t.Line()) }
	tally, err := s.Run(ctx)
	stages.finish()
	if err != nil {
		return failed(err)
	}
	p.tell(func(w io.Writer) error { _, err := io.WriteString(w, s.Summary(tally)); return err })
	if err := explore.Save(filepath.Join(x.out, explore.ResultsFile), s, tally); err != nil {
		return failed(err)
	}
	if err := p.showFinds(ctx, x, tally, run); err != nil {
		return err
	}
	switch {
	case len(tally.Failed) > 0:
		first := tally.Failed[0]
		return failed(fmt.Errorf("%d schedules failed, the first, %d, so: %s", len(tally.Failed), first.Number, first.Why))
	case ctx.Err() != nil:
		return &exit{code: reports.ExitInconclusive}
	}
	return nil
}

// showFinds writes each find's file, runs it as lockproof run does, and reports on all.
func (p *program) showFinds(ctx context.Context, x *exploring, tally explore.Tally, run reports.Run) error {
	if len(tally.Finds) == 0 {
		return nil
	}
	run.Started = time.Now()
	var trials []suite.Result
	var known []*scenarios.Scenario
	for _, f := range tally.Finds {
		path, found, err := x.search.Write(f, x.found)
		if err != nil {
			return failed(err)
		}
		o := run.Options
		o.Seed = f.Seed
		job := suite.Job{Scenario: found, Lock: x.search.Space.Lock, Without: x.search.Space.Without, Lenient: true}
		results, err := p.suite(context.WithoutCancel(ctx), []suite.Job{job}, o, func(suite.Result) {})
		if err != nil {
			return failed(err)
		}
		trials, known = append(trials, results...), append(known, found)
		p.tell(func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s: %d steps, of %d\n  %s\n", f.Breach, len(f.Shrunk.Steps), len(f.Drawn.Steps),
				x.search.Repeat(f, path))
			return err
		})
		if err := p.confirm(ctx, x, f, job, o); err != nil {
			return err
		}
	}
	run.Planned, run.Elapsed = len(trials), time.Since(run.Started)
	return p.report(reports.New(trials, run), known)
}

// confirm runs a find on real servers, and says in how many trials it shows.
func (p *program) confirm(ctx context.Context, x *exploring, f explore.Find, job suite.Job, o suite.Options) error {
	if x.confirm == 0 || ctx.Err() != nil {
		return nil
	}
	o.Cluster, o.Trials, o.Out, o.Retries = suite.Local, x.confirm, filepath.Join(x.out, "local"), suite.DefaultRetries
	results, err := p.suite(ctx, []suite.Job{job}, o, func(suite.Result) {})
	if err != nil {
		return failed(err)
	}
	shown, why := 0, ""
	for _, r := range results {
		if x.search.Space.Breaks(r, f.Property) {
			shown++
		} else if r.Skipped != "" || r.Failure != "" {
			why = ": " + r.Skipped + r.Failure
		}
	}
	p.tell(func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "  on real servers: in %d of %d trials%s\n", shown, x.confirm, why)
		return err
	})
	return nil
}
