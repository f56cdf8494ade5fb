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
	// manySeeds are from how many seeds each row is measured, unless SEEDS says.
	manySeeds = 20
	// bound is for how long one search goes on without a find, on one core.
	bound = time.Minute
	// shrinking bounds how long a find is made smaller.
	shrinking = 30 * time.Second
	// apart is how far the seeds of two searches are from each other: further than any
	// of them gets.
	apart = 1_000_000
)

// liveness are the rules without which a lock is safe, and may not be had.
var liveness = map[redlock.Rule]bool{
	redlock.NodeTimeout: true, redlock.ReleaseEverywhere: true, redlock.ReleaseAfterSet: true,
	redlock.RetryJitter: true, redlock.BoundedExtensions: true,
}

// seedsAsked is what the environment's SEEDS says: twenty of each row take hours.
func seedsAsked() (int, error) {
	text := os.Getenv("SEEDS")
	if text == "" {
		return manySeeds, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("SEEDS=%s: a number from 1 on", text)
	}
	return n, nil
}

// Measure searches for what breaks the reference without each of its rules, and other
// locks; on one core, from many seeds.
func Measure(ctx context.Context, say func(format string, args ...any)) ([]figures.Section, error) {
	seeds, err := seedsAsked()
	if err != nil {
		return nil, err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // a child has as many
	children, err := trials.Children()
	if err != nil {
		return nil, err
	}
	defer children.Close()
	pool, err := children.Pool(suite.Options{Cluster: suite.Virtual, Parallel: 1, VerdictsOnly: true})
	if err != nil {
		return nil, err
	}
	title := fmt.Sprintf("The first violation that a search finds on one core, of %d seeds", seeds)
	rules := figures.Section{Name: "explore", Title: title,
		Notes: []string{fmt.Sprintf("a search that finds nothing ends after %s, and counts with what it has tried by then",
			bound)}}
	for _, space := range spaces() {
		row, err := row(ctx, say, pool, space, seeds)
		if err != nil { // each row that is there is whole
			return []figures.Section{rules}, err
		}
		rules.Rows = append(rules.Rows, row)
	}
	return []figures.Section{rules}, nil
}

// spaces are what is searched: the reference without each rule, and locks that others
// have made.
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
		case redlock.DistinctNodes: // it matters when a server that counts twice forgets
			s.Break = []explore.Assumption{explore.Servers, explore.Memory}
		case redlock.RestartGuard: // it is there for servers that forget
			s.Lock, s.Break = "redlock-guarded", []explore.Assumption{explore.Memory}
		}
		all = append(all, s)
	}
	names := locks.Names()
	slices.SortStableFunc(names, func(a, b string) int { // made by others first
		return cmp.Compare(strings.Index(b, "redsync"), strings.Index(a, "redsync"))
	})
	for _, name := range names {
		kind, err := locks.Find(name)
		if err != nil || kind.SingleNode || name == locks.Reference {
			continue
		}
		s := base
		s.Lock = name
		if name == "redsync" { // that its calls end late is not what is looked for
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
		search := explore.Search{Question: explore.Question{Space: space, Seed: uint64(seed * apart), Enough: 1},
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
