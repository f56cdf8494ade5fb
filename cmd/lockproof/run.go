package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
	"example.org/lockproof/reports/html"
	"example.org/lockproof/scenarios"
)

// The bounds of the flags.
const (
	minTTL      = 20 * time.Millisecond
	maxTTL      = 10 * time.Minute
	maxTrials   = 100_000
	maxParallel = 256
)

const runHelp = `Runs the named scenarios with all their variants, and compares the verdicts with
what each scenario expects. With no name, it runs the whole catalogue.

--lock chooses the lock under test, --nodes its number of servers, and --without
switches rules of the reference lock off. Each scenario then runs without its variants,
and the verdicts are compared with those of the reference lock of the same class: where
the reference fails too, ✗ is a limit, not a bug.

With --worker, the lock is a program in any language that speaks the protocol of
docs/client-protocol.md on stdin and stdout; lockproof worker-check tests it. It runs
on this machine, even if the servers are in containers.

--slice 17/100 runs the 17th of a hundred parts of the trials; lockproof merge joins the
parts into one run. 0/100 is the last part, for engines that count from 0. $NAME in
--slice is replaced by that environment variable, even without a shell. In --out, {slice}
is replaced by the part's number.

Exit codes: 0 every verdict is as expected; 1 one differs; 4 none differs, but
one is inconclusive, or the run was cut short; 3 the harness itself failed;
64 bad usage or a bad file.`

func (p *program) runCommand() *cobra.Command {
	o := suite.Options{Retries: suite.DefaultRetries}
	var slice, worker string
	cmd := &cobra.Command{
		Use:   "run [name|file|glob ...]",
		Short: "Run scenarios and report whether they went as expected",
		Long:  runHelp,
		Example: `  lockproof run
  lockproof run 'aof-*' --on local --trials 20
  lockproof run --on docker --server valkey-8.1
  lockproof run client-pause my-scenario.yaml --ttl 30s
  lockproof run --lock redsync --out out/redsync
  lockproof run --worker 'python3 my_lock.py' --on local
  lockproof run half-is-not-majority --without Majority,FreshToken
  lockproof run --on local --trials 20 --slice 2/4 --out slices/2`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if worker != "" {
				if err := p.useWorker(cmd.Context(), &o, worker); err != nil {
					return err
				}
			}
			jobs, err := selectJobs(cmd, &o, args)
			if err != nil {
				return err
			}
			part, err := useSlice(&o, jobs, slice)
			if err != nil {
				return err
			}
			if len(o.Worker) > 0 {
				if err := p.preflight(cmd.Context(), o); err != nil {
					return err
				}
			}
			o.Notices = p.err
			return p.run(cmd.Context(), jobs, reports.Run{Options: o, Named: len(args) > 0, Slice: part})
		},
	}
	runFlags(cmd.Flags(), &o, &worker, &slice)
	p.verboseFlag(cmd)
	cmd.Flags().BoolVar(&p.causes, "cause", false,
		"find out by experiment what causes each violation: the first of each row and property, in virtual time")
	return cmd
}

// verboseFlag declares the flag --verbose of a run's report.
func (p *program) verboseFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.screen.Verbose, "verbose", false, "list every row, also those that are as expected or skipped "+
		"(the default for named scenarios)")
}

// runFlags declares the flags of run.
func runFlags(f *pflag.FlagSet, o *suite.Options, worker, slice *string) {
	f.SortFlags = false
	f.StringVar(&o.Cluster, "on", suite.Virtual, "cluster: "+strings.Join(cluster.Names(), ", "))
	f.StringVar(&o.Server, "server", "", "lock servers: "+clusterHelp(func(k cluster.Kind) string { return k.Server }))
	f.StringVar(&o.Image, "image", "", "server image, in place of --server: "+
		clusterHelp(func(k cluster.Kind) string { return k.Image }))
	f.IntVar(&o.Trials, "trials", 1, "trials of each scenario and variant")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the first trial; each further one adds 1")
	f.DurationVar(&o.TTL, "ttl", 0, "the lock's TTL, 20ms to 10m (default: each scenario's own)")
	f.StringVar(&o.Lock, "lock", "", "lock under test: "+strings.Join(locks.Names(), ", "))
	f.StringVar(worker, "worker", "", "a program that is the lock under test: its command line; with --on local or docker")
	f.IntVar(&o.Nodes, "nodes", 0, "number of the lock's servers (the reference, unless --lock names another): 1, 3 or 5")
	f.StringSliceVar(&o.Without, "without", nil,
		"rules of the reference lock to switch off, with commas or by several flags: "+strings.Join(ruleNames(), ", "))
	f.StringVar(&o.Out, "out", "out", "folder for results and histories")
	f.IntVar(&o.Parallel, "parallel", 0, "trials at a time (default: one a processor; 3 on local, 4 on docker)")
	f.StringVar(slice, "slice", "", "run one part of several, as in 17/100 (default: the whole)")
}

// selectJobs checks the options and returns the rows to run.
func selectJobs(cmd *cobra.Command, o *suite.Options, args []string) ([]suite.Job, error) {
	if err := checkOptions(o, cmd.Flags().Changed); err != nil {
		return nil, err
	}
	selected, err := scenarios.Select(args)
	if err != nil {
		return nil, usage("%w", err)
	}
	jobs, err := o.Jobs(selected)
	if err != nil {
		return nil, usage("%w", err)
	}
	return jobs, nil
}

// checkOptions refuses values that are out of bounds or do not exist.
func checkOptions(o *suite.Options, given func(string) bool) error {
	switch {
	case o.Trials < 1 || o.Trials > maxTrials:
		return usage("--trials %d: give a number from 1 to %d", o.Trials, maxTrials)
	case given("ttl") && (o.TTL < minTTL || o.TTL > maxTTL):
		return usage("--ttl %s: a TTL lies between 20ms and 10m, as in --ttl 30s", o.TTL)
	case given("parallel") && (o.Parallel < 1 || o.Parallel > maxParallel):
		return usage("--parallel %d: give a number from 1 to %d", o.Parallel, maxParallel)
	case given("nodes") && o.Nodes == 0:
		return usage("--nodes 0: give 1, 3 or 5")
	}
	err := oneOf("on", o.Cluster, "cluster", cluster.Names())
	if given("lock") {
		err = cmp.Or(err, oneOf("lock", o.Lock, "lock", locks.Names()))
	}
	if err != nil {
		return err
	}
	if o.Nodes > 0 && o.Lock == "" {
		o.Lock = locks.Reference
	}
	if err := checkServer(o); err != nil {
		return err
	}
	return checkRules(o)
}

// checkServer refuses a server or an image that the cluster does not support.
func checkServer(o *suite.Options) error {
	kind, err := cluster.Find(o.Cluster)
	if err != nil {
		return usage("--on: %w", err)
	}
	if o.Server != "" && kind.Serves != nil {
		if err := kind.Serves(o.Server); err != nil {
			return usage("--server %s: %w", o.Server, cluster.WithoutClusterName(err))
		}
	}
	switch {
	case o.Image != "" && kind.Image == "":
		return usage("--image %s: the %s cluster has no images: give it with --on %s", o.Image, kind.Name,
			strings.Join(clustersWith(func(k cluster.Kind) string { return k.Image }), " or --on "))
	case o.Server != "" && o.Image != "":
		return usage("--server %s and --image %s: give one of them", o.Server, o.Image)
	case o.Server != "" && len(kind.Servers) > 0 && !slices.Contains(kind.Servers, o.Server):
		return usage("--server %s: there is no such server on %s: %s", o.Server, kind.Name, instead(o.Server, kind.Servers))
	}
	return nil
}

func clustersWith(something func(cluster.Kind) string) []string {
	var names []string
	for _, k := range cluster.Kinds {
		if something(k) != "" {
			names = append(names, k.Name)
		}
	}
	return names
}

// clusterHelp lists for --help the values of a flag on each kind of cluster.
func clusterHelp(help func(cluster.Kind) string) string {
	var parts []string
	for _, k := range cluster.Kinds {
		if text := help(k); text != "" {
			parts = append(parts, fmt.Sprintf("on %s %s", k.Name, text))
		}
	}
	return strings.Join(parts, "; ")
}

// useSlice restricts the run to a slice, if one is given, and returns its rows.
func useSlice(o *suite.Options, jobs []suite.Job, slice string) (of *reports.Slice, err error) {
	if slice == "" {
		return nil, nil
	}
	if o.Slice, err = suite.ParseSlice(slice); err != nil {
		return nil, usage("--slice: %w", err)
	}
	if _, err := o.Planned(jobs); err != nil {
		return nil, usage("--slice %s: %w", o.Slice, err)
	}
	o.Out = o.Slice.ExpandPath(o.Out)
	of = &reports.Slice{Slice: o.Slice}
	for _, j := range jobs {
		of.Rows = append(of.Rows, j.Name())
		if o.Row(j).Skipped != "" {
			of.Skipped = append(of.Skipped, j.Name())
		}
	}
	if of.Suite, err = suite.Fingerprint(jobs); err != nil {
		return nil, failed(err)
	}
	return of, nil
}

// run runs the jobs, reports, and returns the exit code as an error. The caller
// has set those fields of run that are known before it begins.
func (p *program) run(ctx context.Context, jobs []suite.Job, run reports.Run) error {
	o := run.Options
	run.Version, run.Go, run.Started = version(), runtime.Version(), time.Now()
	rows, err := o.Planned(jobs)
	if err != nil {
		return failed(err)
	}
	for _, trials := range rows {
		run.Planned += trials
	}
	if len(jobs) > 0 && jobs[0].AllowBetter {
		run.Lock = reports.AboutLock(o.Lock)
		run.Lock.Servers = cmp.Or(o.Nodes, run.Lock.Servers)
	}
	folder, err := openOutFolder(o.Out, false)
	if err != nil {
		return err
	}
	defer folder.Close()
	written, err := folder.Begin(run)
	if err != nil {
		return failed(err)
	}
	defer written.End()
	ctx, stop := p.interruptible(ctx)
	defer stop()
	progress := p.progress(rows, run.Planned)
	trials, err := p.suite(ctx, jobs, o, func(t suite.Result) {
		written.Observe(t)
		progress.observe(t)
	})
	progress.finish()
	if err != nil && (ctx.Err() == nil || !errors.Is(err, context.Canceled)) {
		return failed(err)
	}
	if err := p.findCauses(ctx, jobs, trials, o); err != nil {
		return failed(err)
	}
	run.Elapsed = time.Since(run.Started)
	run.Interrupted = len(trials) < run.Planned
	var known []*scenarios.Scenario
	for _, j := range jobs {
		known = append(known, j.Scenario)
	}
	return p.report(reports.New(trials, run), known)
}

// report writes the report's files and then prints it: the output may get lost,
// but the results must not. The page takes the rows' lessons from the scenarios.
func (p *program) report(report *reports.Report, known []*scenarios.Scenario) error {
	page := func(w io.Writer) error { return html.Write(w, report, known) }
	paths, err := report.WriteFiles(reports.File{Name: reports.PageFile, Write: page})
	report.Print(p.out, p.screen)
	listWritten(p.out, report.Options.Out, paths)
	return exitError(report.ExitCode(), err)
}

func listWritten(w io.Writer, out string, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = filepath.Base(path)
	}
	_, err := fmt.Fprintf(w, "Written to %s: %s\n", out, strings.Join(names, ", "))
	return err
}

// exitError returns the exit code as an error. An unwritten file is a failure of
// the harness, which only a difference outranks.
func exitError(code int, err error) error {
	switch {
	case err != nil && code != reports.ExitDiffers:
		return failed(err)
	case code != 0:
		return &exit{code, err}
	}
	return nil
}
