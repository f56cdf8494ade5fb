package trials

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"example.org/lockproof/bench/figures"
	"example.org/lockproof/bench/memory"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/scenarios"
)

const (
	rounds = 5
	// batch is the number of trials in a round.
	batch    = 300
	scenario = "restart-without-persistence"
	// long is the virtual time of the long run.
	long = 6 * time.Minute
)

// Measure runs trials in virtual time.
func Measure(ctx context.Context, say func(format string, args ...any)) ([]figures.Section, error) {
	var sections []figures.Section
	for _, measure := range []func(context.Context, func(string, ...any)) (figures.Section, error){throughput, catalogue,
		length} {
		s, err := measure(ctx, say)
		if err != nil {
			return sections, err
		}
		sections = append(sections, s)
	}
	return sections, nil
}

// way is one of the ways to run a batch.
type way struct {
	name   string
	cores  int
	folder string // parent of the folder for histories; "none": no histories
	inside bool   // in the measuring process, without children
	rounds []float64
}

// shared is a file system in memory, if Linux has one.
const shared = "/dev/shm"

func throughput(ctx context.Context, say func(string, ...any)) (figures.Section, error) {
	ram := shared
	if _, err := os.Stat(shared); err != nil {
		ram = ""
	}
	ways := []*way{
		{name: "one core", cores: 1, folder: ram}, {name: "two cores", cores: 2, folder: ram},
		{name: "one core, without children", cores: 1, folder: ram, inside: true},
		{name: "two cores, without children", cores: 2, folder: ram, inside: true},
		{name: "one core, histories on disk", cores: 1}, {name: "one core, no histories", cores: 1, folder: "none"},
	}
	for round := range rounds {
		for _, w := range ways {
			say("trials: round %d of %d, %s", round+1, rounds, w.name)
			took, err := w.run(ctx, uint64(round*batch))
			if err != nil {
				return figures.Section{}, fmt.Errorf("%s: %w", w.name, err)
			}
			w.rounds = append(w.rounds, batch/took.Seconds())
		}
	}
	s := figures.Section{Name: "trials", Title: "Trials in virtual time of " + scenario + ", with history and verdict",
		Notes: []string{"histories are written to " + cmp.Or(ram, "the folder for temporary files") +
			", unless it says otherwise"}}
	for _, w := range ways {
		s.Rows = append(s.Rows,
			figures.Row{Name: w.name, Figures: []figures.Figure{figures.Of("trials", figures.PerSecond, w.rounds...)}})
	}
	s.Targets = []figures.Target{
		figures.AtLeast("trials on one core", s.Rows[0].Figures[0], 400),
		figures.AtLeast("trials on two cores", s.Rows[1].Figures[0], 600),
	}
	return s, nil
}

// run runs a batch.
func (w *way) run(ctx context.Context, seed uint64) (time.Duration, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(w.cores))
	o := suite.Options{Cluster: suite.Virtual, Trials: batch, Seed: seed + 1, Parallel: w.cores}
	if w.folder != "none" {
		out, err := os.MkdirTemp(w.folder, "lockproof-bench-")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(out)
		o.Out = out
	}
	if w.inside {
		return timed(ctx, suite.Run, []string{scenario}, o)
	}
	return inChildren(ctx, []string{scenario}, o)
}

// inChildren is timed with trials in children. The time to start them does not count: a run of any length has it once.
func inChildren(ctx context.Context, names []string, o suite.Options) (time.Duration, error) {
	c, err := Children()
	if err != nil {
		return 0, err
	}
	defer c.Close()
	warm := o
	warm.Trials, warm.Out, warm.Lock = 2*o.Parallel, "", "" // any lock warms the processes up
	if _, err := timed(ctx, c.Run, []string{scenario}, warm); err != nil {
		return 0, err
	}
	return timed(ctx, c.Run, names, o)
}

// timed runs scenarios, the whole catalogue without names, and requires every result to be as expected.
func timed(ctx context.Context, run suite.Runner, names []string, o suite.Options) (time.Duration, error) {
	list, err := scenarios.Select(names)
	if err != nil {
		return 0, err
	}
	jobs, err := o.Jobs(list)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	trials, err := run(ctx, jobs, o, func(suite.Result) {})
	took := time.Since(began)
	if err == nil {
		err = ctx.Err()
	}
	for _, t := range trials {
		if standing, why := t.Standing(); standing != suite.AsExpected && standing != suite.Skipped {
			err = errors.Join(err, fmt.Errorf("%s %s, seed %d: %s", t.Scenario, t.Variant, t.Seed, why))
		}
	}
	return took, err
}

func catalogue(ctx context.Context, say func(string, ...any)) (figures.Section, error) {
	var took []float64
	for round := range 3 {
		say("trials: the catalogue, round %d of 3", round+1)
		out, err := os.MkdirTemp("", "lockproof-bench-")
		if err != nil {
			return figures.Section{}, err
		}
		t, err := inChildren(ctx, nil, suite.Options{Cluster: suite.Virtual, Trials: 1, Seed: uint64(round + 1), Out: out,
			Parallel: runtime.GOMAXPROCS(0)})
		os.RemoveAll(out)
		if err != nil {
			return figures.Section{}, err
		}
		took = append(took, t.Seconds())
	}
	f := figures.Of("time", figures.Seconds, took...)
	return figures.Section{
		Name: "catalogue", Title: "The whole catalogue in virtual time, one trial each",
		Rows:    []figures.Row{{Name: "catalogue", Figures: []figures.Figure{f}}},
		Targets: []figures.Target{figures.AtMost("the catalogue", f, 5)},
	}, nil
}

// length runs clients in loops for a long virtual time.
func length(ctx context.Context, say func(string, ...any)) (figures.Section, error) {
	say("trials: five clients in loops for %s of virtual time", long)
	list, err := scenarios.Select([]string{"healthy-contention"})
	if err != nil {
		return figures.Section{}, err
	}
	s := *list[0]
	w := *s.Workload
	w.Keys, w.For = 10, scenarios.Span{Fixed: long}
	s.Workload, s.Variants = &w, nil
	out, err := os.MkdirTemp("", "lockproof-bench-")
	if err != nil {
		return figures.Section{}, err
	}
	defer os.RemoveAll(out)
	peak := memory.Watch()
	began := time.Now()
	o := suite.Options{Cluster: suite.Virtual, Trials: 1, Seed: 1, Out: out}
	trials, err := suite.Run(ctx, []suite.Job{{Scenario: &s}}, o, func(suite.Result) {})
	if err != nil {
		return figures.Section{}, err
	}
	if standing, why := trials[0].Standing(); standing != suite.AsExpected {
		return figures.Section{}, fmt.Errorf("the long run: %s", why)
	}
	row := figures.Row{Name: fmt.Sprintf("%s of virtual time", long),
		Figures: []figures.Figure{figures.Of("time", figures.Seconds, time.Since(began).Seconds())}}
	section := figures.Section{Name: "long-run",
		Title: "A long run: five clients in loops over ten keys, judged from its file"}
	if bytes, ok := peak(); ok {
		f := figures.Of("peak", figures.Bytes, float64(bytes))
		row.Figures = append(row.Figures, f)
		section.Targets = []figures.Target{figures.AtMost("memory of the harness", f, 200<<20)}
	}
	perLease, err := keptPerLease(filepath.Join(out, trials[0].History))
	if err != nil {
		return figures.Section{}, err
	}
	row.Figures = append(row.Figures, figures.Of("kept of a lease", figures.Bytes, perLease))
	section.Rows = []figures.Row{row}
	return section, nil
}
