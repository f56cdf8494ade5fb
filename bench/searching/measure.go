package searching

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/lockproof/bench/figures"
	"example.org/lockproof/bench/trials"
	"example.org/lockproof/checker"
	"example.org/lockproof/explore"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/redlock"
)

const (
	// defaultSeeds is the number of seeds for each row, unless SEEDS is set.
	defaultSeeds = 20
	// bound ends a search without a find, on one core.
	bound = time.Minute
	// shrinking bounds the time to shrink a find.
	shrinking = 30 * time.Second
	// seedDistance is the distance between the seeds of two searches: no search uses that many.
	seedDistance = 1_000_000
)

// liveness are the rules without which a lock is safe, but may be unavailable.
var liveness = map[redlock.Rule]bool{
	redlock.NodeTimeout: true, redlock.ReleaseEverywhere: true, redlock.ReleaseAfterSet: true,
	redlock.RetryJitter: true, redlock.BoundedExtensions: true,
}

// seedCount is the value of SEEDS: twenty for each row take hours.
func seedCount() (int, error) {
	text := os.Getenv("SEEDS")
	if text == "" {
		return defaultSeeds, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("invalid SEEDS %q: want a number of at least 1", text)
	}
	return n, nil
}

// Measure searches for violations of the reference without each of its rules, and of other locks; on one core, from
// many seeds.
func Measure(ctx context.Context, say func(format string, args ...any)) ([]figures.Section, error) {
	seeds, err := seedCount()
	if err != nil {
		return nil, err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // children inherit it
	children, err := trials.Children()
	if err != nil {
		return nil, err
	}
	defer children.Close()
	pool, err := children.Pool(suite.Options{Cluster: suite.Virtual, Parallel: 1})
	if err != nil {
		return nil, err
	}
	title := fmt.Sprintf("The first violation that a search finds on one core, of %d seeds", seeds)
	rules := figures.Section{Name: "explore", Title: title,
		Notes: []string{fmt.Sprintf("a search that finds nothing ends after %s, and counts with what it has tried by then",
			bound)}}
	for _, space := range spaces() {
		row, err := row(ctx, say, pool, space, seeds)
		if err != nil { // the rows so far are complete
			return []figures.Section{rules}, err
		}
		rules.Rows = append(rules.Rows, row)
	}
	return []figures.Section{rules}, nil
}

// spaces are the searched ones: the reference without each rule, and other locks.
func spaces() []explore.Space {
	base := explore.Space{Lock: locks.Reference, TTL: time.Second}
	var all []explore.Space
	for _, info := range redlock.Rules() {
		s := base
		s.Without = []string{string(info.Rule)}
		if !liveness[info.Rule] {
			s.Properties = []string{checker.MutualExclusion}
		}
		switch info.Rule {
		case redlock.DistinctNodes: // it matters when a duplicate server loses its keys
			s.Break = []explore.Assumption{explore.Servers, explore.Memory}
		case redlock.RestartGuard: // its purpose is servers that lose keys
			s.Lock, s.Break = "redlock-guarded", []explore.Assumption{explore.Memory}
		}
		all = append(all, s)
	}
	names := locks.Names()
	slices.SortStableFunc(names, func(a, b string) int { // other authors' locks first
		return cmp.Compare(strings.Index(b, "redsync"), strings.Index(a, "redsync"))
	})
	for _, name := range names {
		kind, err := locks.Find(name)
		if err != nil || kind.SingleNode || name == locks.Reference {
			continue
		}
		s := base
		s.Lock = name
		if name == "redsync" { // its late returns are not of interest here
			s.Properties = []string{checker.MutualExclusion}
		}
		all = append(all, s)
	}
	return all
}

// row searches a space from every seed.
func row(ctx context.Context, say func(string, ...any), pool *suite.Pool, space explore.Space,
	seeds int) (figures.Row, error) {
	name := space.Lock
	for _, rule := range space.Without {
		name += " without " + rule
	}
	var found, schedules, seconds, steps []float64
	for seed := range seeds {
		search := explore.Search{Question: explore.Question{Space: space, Seed: uint64(seed * seedDistance), Enough: 1},
			For: bound, Try: pool.Try, Parallel: 1}
		began := time.Now()
		tally, err := search.Run(ctx)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return figures.Row{}, fmt.Errorf("%s: %w", name, err)
		}
		tried, took := tally.Schedules, time.Since(began)
		if len(tally.Finds) == 0 {
			found = append(found, 0)
		} else {
			f := &tally.Finds[0]
			found, tried, took = append(found, 1), f.Number+1, f.At
			search.Shrink = shrinking
			search.ShrinkFind(ctx, f)
			steps = append(steps, float64(len(f.Shrunk.Steps)))
		}
		schedules, seconds = append(schedules, float64(tried)), append(seconds, took.Seconds())
		say("explore: %s, seed %d of %d: %s", name, seed+1, seeds, tally.Line())
	}
	r := figures.Row{Name: name, Figures: []figures.Figure{
		figures.Of("found", figures.Count, sum(found)), figures.Of("schedules", figures.Count, schedules...),
		figures.Of("seconds", figures.Seconds, seconds...),
	}}
	if len(steps) > 0 {
		r.Figures = append(r.Figures, figures.Of("steps", figures.Count, steps...))
	}
	return r, nil
}

func sum(of []float64) float64 {
	total := 0.0
	for _, v := range of {
		total += v
	}
	return total
}
