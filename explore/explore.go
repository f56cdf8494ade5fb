package explore

import (
	"context"
	"slices"
	"sync"
	"time"

	"lockproof/checker"
	"lockproof/harness/history"
	"lockproof/harness/suite"
)

// batch is how many schedules are drawn at once. What a guided search learns, it
// learns from whole batches, so that the schedule of a number does not depend on how
// many run side by side.
const batch = 128

// Search is one search through a space. Its fields but Try are its result's too.
type Search struct {
	Space Space
	Seed  uint64
	// Schedules and For bound it; 0: they do not. A batch that is begun is gone through.
	Schedules int
	For       time.Duration
	Slice     suite.Slice // the batches dealt out to several machines in turn
	// Shrink bounds how long one find is shrunk; 0: it is not.
	Shrink time.Duration
	// Enough ends the search once so many different breaches were found; 0: it does not.
	Enough int
	// Try runs a trial; Side is how many may run side by side.
	Try  Try
	Side int
	// Observe is told how it goes, after each batch and each find; nil: nobody is.
	Observe func(Tally)
}

// Tally is what a search has come to.
type Tally struct {
	Schedules int      `json:"schedules"` // that were run
	Refused   int      `json:"refused"`   // of these the lock refused to be set up so
	Failed    []Failed `json:"failed,omitempty"`
	// Verdicts counts the trials by property and verdict.
	Verdicts  map[string]map[string]int `json:"verdicts"`
	States    int                       `json:"states"` // different ones that were reached
	Elapsed   time.Duration             `json:"elapsed"`
	Finds     []Find                    `json:"finds,omitempty"` // a breach each, in the order in which they were found
	Shrinking bool                      `json:"-"`
}

// Failed is a schedule of which the harness, or the lock's process, failed.
type Failed struct {
	Number   int       `json:"number"`
	Why      string    `json:"why"`
	Schedule *Schedule `json:"schedule"`
}

// mostFailed is how many of these are kept.
const mostFailed = 20

// Find is a breach, and the schedule that shows it.
type Find struct {
	Breach
	Number    int               `json:"number"` // of the first schedule that showed it, from 0
	Seed      uint64            `json:"seed"`   // of its trial
	Times     int               `json:"times"`  // how many schedules showed it
	At        time.Duration     `json:"at"`     // since the search began
	Drawn     *Schedule         `json:"drawn"`
	Shrunk    *Schedule         `json:"shrunk"`
	Tries     int               `json:"tries"` // of shrinking
	Violation checker.Violation `json:"violation"`
}

// trial is one schedule of a batch and what came of it.
type trial struct {
	number   int
	seed     uint64
	schedule *Schedule
	result   suite.Result
}

// Run searches until its bounds are reached, enough was found, or ctx ends.
// An error means that there is no such lock.
func (s *Search) Run(ctx context.Context) (Tally, error) {
	if err := s.Space.prepare(); err != nil {
		return Tally{}, err
	}
	began := time.Now()
	t := Tally{Verdicts: map[string]map[string]int{}}
	guide := newGuide(s.Space.Strategy)
	for number := 0; ctx.Err() == nil; number += batch {
		if s.Slice.Count > 0 && number/batch%s.Slice.Count != s.Slice.Index-1 {
			if s.Schedules > 0 && number >= s.Schedules {
				break
			}
			continue
		}
		size := batch
		if s.Schedules > 0 {
			size = min(size, s.Schedules-number)
		}
		if size <= 0 || s.For > 0 && time.Since(began) >= s.For || s.Enough > 0 && len(t.Finds) >= s.Enough {
			break
		}
		done := s.batch(ctx, guide, number, size)
		for _, d := range done {
			s.take(ctx, &t, d, began)
		}
		guide.learn(done)
		t.States, t.Elapsed = len(guide.seen), time.Since(began)
		s.observe(t)
	}
	t.Elapsed = time.Since(began)
	return t, nil
}

func (s *Search) observe(t Tally) {
	if s.Observe != nil {
		s.Observe(t)
	}
}

// batch draws schedules and runs them, side by side. One that was not run because ctx
// has ended is left out.
func (s *Search) batch(ctx context.Context, g *guide, number, size int) []trial {
	all := make([]trial, size)
	next := make(chan int)
	var running sync.WaitGroup
	for range max(1, s.Side) {
		running.Go(func() {
			for i := range next {
				seed := s.Seed + uint64(number+i)
				schedule := g.draw(&s.Space, seed)
				all[i] = trial{number + i, seed, schedule, s.Try(ctx, s.Space.job(schedule), seed)}
			}
		})
	}
	for i := range size {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	running.Wait()
	return slices.DeleteFunc(all, func(t trial) bool { return t.schedule == nil || ctx.Err() != nil && len(t.result.Results) == 0 })
}

// take counts what came of a trial, and shrinks what is new.
func (s *Search) take(ctx context.Context, t *Tally, d trial, began time.Time) {
	t.Schedules++
	switch {
	case d.result.Failure != "":
		if len(t.Failed) < mostFailed {
			t.Failed = append(t.Failed, Failed{d.number, d.result.Failure, d.schedule})
		}
	case d.result.Skipped != "":
		t.Refused++
	}
	for _, r := range d.result.Results {
		if t.Verdicts[r.Property] == nil {
			t.Verdicts[r.Property] = map[string]int{}
		}
		t.Verdicts[r.Property][r.Verdict]++
	}
	for _, b := range s.Space.breaches(d.result) {
		if i := slices.IndexFunc(t.Finds, func(f Find) bool { return f.Breach == b }); i >= 0 {
			t.Finds[i].Times++
			continue
		}
		if s.Enough > 0 && len(t.Finds) >= s.Enough {
			continue
		}
		f := Find{Breach: b, Number: d.number, Seed: d.seed, Times: 1, At: time.Since(began), Drawn: d.schedule, Shrunk: d.schedule,
			Violation: first(d.result, b)}
		if s.Shrink > 0 {
			t.Shrinking = true
			s.observe(*t)
			s.Smaller(ctx, &f)
			t.Shrinking = false
		}
		t.Finds = append(t.Finds, f)
	}
}

// Smaller makes a find's schedule as small as there is time for.
func (s *Search) Smaller(ctx context.Context, f *Find) {
	until := time.Now().Add(s.Shrink)
	f.Shrunk = shrink(f.Drawn, func(c *Schedule) bool {
		f.Tries++
		r := s.Try(ctx, s.Space.job(c), f.Seed)
		if !slices.Contains(s.Space.breaches(r), f.Breach) {
			return false
		}
		f.Violation = first(r, f.Breach)
		return true
	}, func() bool { return ctx.Err() != nil || time.Now().After(until) })
}

// first is the violation that a breach is about.
func first(r suite.Result, b Breach) checker.Violation {
	for _, r := range r.Results {
		if r.Property == b.Property && r.Verdict == history.Violated && len(r.Violations) > 0 {
			return r.Violations[0]
		}
	}
	return checker.Violation{}
}
