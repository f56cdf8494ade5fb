package searching

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"example.org/lockproof/bench/figures"
	"example.org/lockproof/bench/trials"
	"example.org/lockproof/checker"
	"example.org/lockproof/explore"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
)

const (
	rounds = 7
	// perRound is the number of schedules in a round.
	perRound = 384
	// targetPerCore is the target of schedules per second and core.
	targetPerCore = 1000
)

// whole is the reference under its default assumptions.
var whole = explore.Space{Lock: locks.Reference, TTL: time.Second}

// MeasureRate measures schedules per second, and the parts of a schedule's time: each part with the same schedules,
// round by round.
func MeasureRate(ctx context.Context, say func(format string, args ...any)) ([]figures.Section, error) {
	children, err := trials.Children()
	if err != nil {
		return nil, err
	}
	defer children.Close()
	seen, err := traffic(ctx, children)
	if err != nil {
		return nil, err
	}
	parts := []part{
		{"schedules, one core", func() (time.Duration, error) { return goThrough(ctx, children, 1, nil) }, nil},
		{"schedules, two cores", func() (time.Duration, error) { return goThrough(ctx, children, 2, nil) }, nil},
		{"the same without a step", func() (time.Duration, error) { return idle(ctx, children) }, nil},
		{"their histories judged", func() (time.Duration, error) { return judge(seen.histories) }, nil},
		{"their commands, by go-redis alone", func() (time.Duration, error) { return alone(seen) }, nil},
	}
	for round := range rounds {
		for i := range parts {
			say("schedules: round %d of %d, %s", round+1, rounds, parts[i].name)
			took, err := parts[i].run()
			if err = errors.Join(err, ctx.Err()); err != nil {
				return nil, fmt.Errorf("%s: %w", parts[i].name, err)
			}
			parts[i].took = append(parts[i].took, took.Seconds()/perRound)
		}
	}
	return []figures.Section{rateSection(parts, seen)}, nil
}

// part is one part of a schedule's time, with the seconds for a schedule in each round.
type part struct {
	name string
	run  func() (time.Duration, error)
	took []float64
}

func rateSection(parts []part, seen seen) figures.Section {
	s := figures.Section{Name: "schedules", Title: "Schedules of the reference, drawn, run in virtual time and judged",
		Notes: []string{
			fmt.Sprintf("of a schedule: %.0f commands on %.1f links, in the mean of %d", float64(seen.commands)/perRound,
				float64(seen.links)/perRound, perRound),
			"go-redis alone: as many commands on a connection for each link, each answered at once; what it takes is a " +
				"bound for any harness that drives it",
		}}
	for _, p := range parts {
		var perSecond []float64
		for _, took := range p.took {
			perSecond = append(perSecond, 1/took)
		}
		s.Rows = append(s.Rows, figures.Row{Name: p.name, Figures: []figures.Figure{
			figures.Of("rate", figures.PerSecond, perSecond...), figures.Of("each", figures.Seconds, p.took...),
		}})
	}
	s.Targets = []figures.Target{
		figures.AtLeast("schedules on one core", s.Rows[0].Figure("rate"), targetPerCore),
		figures.AtLeast("schedules on two cores", s.Rows[1].Figure("rate"), 2*targetPerCore),
	}
	return s
}

// goThrough runs a round's schedules in a number of children. It passes each result to kept, unless that is nil.
func goThrough(ctx context.Context, children *suite.Children, cores int,
	kept func(suite.Result)) (time.Duration, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	pool, err := children.Pool(suite.Options{Cluster: suite.Virtual, Parallel: cores,
		Events: kept != nil})
	if err != nil {
		return 0, err
	}
	try := pool.Try
	if kept != nil {
		try = func(ctx context.Context, job suite.Job, seed uint64) suite.Result {
			r := pool.Try(ctx, job, seed)
			kept(r)
			return r
		}
	}
	search := explore.Search{Question: explore.Question{Space: whole, Schedules: perRound}, Try: try, Parallel: cores}
	began := time.Now()
	tally, err := search.Run(ctx)
	if len(tally.Failed) > 0 {
		err = errors.Join(err, fmt.Errorf("schedule %d: %s", tally.Failed[0].Number, tally.Failed[0].Why))
	}
	return time.Since(began), err
}

// idle runs as many trials without a step.
func idle(ctx context.Context, children *suite.Children) (time.Duration, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	pool, err := children.Pool(suite.Options{Cluster: suite.Virtual, Parallel: 1})
	if err != nil {
		return 0, err
	}
	nothing := explore.Schedule{TTL: whole.TTL, Nodes: 5, Clients: 3}
	job := suite.Job{Scenario: nothing.Scenario("nothing", nil), Lock: whole.Lock, AllowBetter: true}
	began := time.Now()
	for seed := range uint64(perRound) {
		if r := pool.Try(ctx, job, seed); r.Failure != "" {
			return 0, errors.New(r.Failure)
		}
	}
	return time.Since(began), nil
}

// judge judges each history.
func judge(histories [][]history.Event) (time.Duration, error) {
	began := time.Now()
	for _, h := range histories {
		if _, err := checker.Judge(checker.InMemory(h)); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}
