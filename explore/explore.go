package explore

import (
	"context"
	"fmt"
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
	// An exhaustive search is of as many schedules as there are, whatever is said here.
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
	// Keep takes all that it has come to, now and then, for Resume to go on from; nil:
	// nobody does.
	Keep func(Tally)
}

// Tally is what a search has come to.
type Tally struct {
	Schedules int      `json:"schedules"` // that were run
	Refused   int      `json:"refused"`   // of these the lock refused to be set up so
	Failed    []Failed `json:"failed,omitempty"`
	// Verdicts counts the trials by property and verdict.
	Verdicts  map[string]map[string]int `json:"verdicts"`
	States    int                       `json:"states"` // different ones that were reached
	Seen      States                    `json:"seen,omitempty"`
	Corpus    []Reached                 `json:"corpus,omitempty"` // of a guided search, in the order of their numbers
	Next      int                       `json:"next"`             // the number of the first schedule that it has not got to
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
	Tries     int               `json:"tries"`               // of shrinking
	CutShort  bool              `json:"cut_short,omitempty"` // was the shrinking, by an interrupt
	Violation checker.Violation `json:"violation"`
}

// trial is one schedule of a batch and what came of it.
type trial struct {
	number   int
	seed     uint64
	schedule *Schedule
	result   suite.Result
	done     bool // before the search was interrupted
}

// Run searches until its bounds are reached, enough was found, or ctx ends.
// An error means that there is no such lock.
func (s *Search) Run(ctx context.Context) (Tally, error) { return s.Resume(ctx, Tally{}) }

// keepEvery is how often what a search has come to is kept while it goes on.
const keepEvery = 10 * time.Second

// Resume goes on from what an earlier run of the same search has come to.
func (s *Search) Resume(ctx context.Context, t Tally) (Tally, error) {
	if err := s.Space.prepare(); err != nil {
		return Tally{}, err
	}
	began, kept := time.Now().Add(-t.Elapsed), time.Now()
	if t.Verdicts == nil {
		t.Verdicts = map[string]map[string]int{}
	}
	guide := newGuide(&s.Space, t)
	if s.Space.Strategy == Exhaust {
		s.Schedules = len(guide.all)
	}
	for i := range t.Finds {
		if t.Finds[i].CutShort {
			s.shrink(ctx, &t, &t.Finds[i])
		}
	}
	for ctx.Err() == nil && s.Left(t) {
		number, size := s.following(t.Next)
		done := s.batch(ctx, guide, number, size)
		for _, d := range done {
			s.take(ctx, &t, d, began)
		}
		guide.learn(done)
		t.Next, t.States, t.Elapsed = number+len(done), len(guide.seen), time.Since(began)
		s.observe(t)
		if s.Keep != nil && time.Since(kept) > keepEvery {
			t.Seen, t.Corpus, kept = statesOf(guide.seen), guide.corpus, time.Now()
			s.Keep(t)
		}
	}
	t.Seen, t.Corpus, t.Elapsed = statesOf(guide.seen), guide.corpus, time.Since(began)
	return t, nil
}

// Left says whether anything is left to do of a search that has come to that.
func (s *Search) Left(t Tally) bool {
	_, size := s.following(t.Next)
	return size > 0 && (s.For == 0 || t.Elapsed < s.For) && (s.Enough == 0 || len(t.Finds) < s.Enough)
}

// following is the rest of the batch that comes next in the search's slice, from a
// number on; its size is 0 if there is none.
func (s *Search) following(number int) (first, size int) {
	if n := s.Slice.Count; n > 0 {
		for number/batch%n != s.Slice.Index-1 {
			number = (number/batch + 1) * batch
		}
	}
	size = batch - number%batch
	if s.Schedules > 0 {
		size = max(0, min(size, s.Schedules-number))
	}
	return number, size
}

// CheckSlice says why the search cannot be split so, if it cannot.
func (s *Search) CheckSlice() error {
	batches := (s.Schedules + batch - 1) / batch
	if batches < s.Slice.Count {
		return fmt.Errorf("%d schedules are %d batches of %d, which cannot be split into %d slices: ask for more, or for fewer slices",
			s.Schedules, batches, batch, s.Slice.Count)
	}
	return nil
}

func (s *Search) observe(t Tally) {
	if s.Observe != nil {
		s.Observe(t)
	}
}

// batch draws schedules and runs them, side by side. From the first on that was not
// done when ctx ended they are left out, so that Resume begins with it.
func (s *Search) batch(ctx context.Context, g *guide, number, size int) []trial {
	all := make([]trial, size)
	next := make(chan int)
	var running sync.WaitGroup
	for range max(1, s.Side) {
		running.Go(func() {
			for i := range next {
				schedule, seed := g.next(&s.Space, s.Seed, number+i)
				result := s.Try(ctx, s.Space.job(schedule), seed)
				all[i] = trial{number + i, seed, schedule, result, ctx.Err() == nil}
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
	if i := slices.IndexFunc(all, func(t trial) bool { return !t.done }); i >= 0 {
		return all[:i]
	}
	return all
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
			s.shrink(ctx, t, &f)
		}
		t.Finds = append(t.Finds, f)
	}
}

// shrink makes a find smaller, and says that it does.
func (s *Search) shrink(ctx context.Context, t *Tally, f *Find) {
	t.Shrinking = true
	s.observe(*t)
	f.Tries = 0
	s.Smaller(ctx, f)
	f.CutShort = ctx.Err() != nil
	t.Shrinking = false
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
