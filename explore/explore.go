package explore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
)

// batch is how many schedules are drawn at once.
const batch = 128

// Question is what a search is asked, and what its results are an answer to.
type Question struct {
	Space Space  `json:"space"`
	Seed  uint64 `json:"seed"`
	// Schedules bounds it; 0: it does not. A batch that is begun is gone through.
	// An exhaustive search is of as many schedules as there are, whatever is said here.
	Schedules int `json:"schedules,omitempty"`
	// Enough ends the search once so many different breaches were found; 0: it does not.
	Enough int `json:"enough,omitempty"`
}

// Search is one search through a space.
type Search struct {
	Question
	For time.Duration // bounds it, too; 0: it does not
	// Slow: a trial takes seconds, so that the bounds are looked at after each.
	Slow bool
	// Shrink bounds how long one find is shrunk; 0: it is not.
	Shrink time.Duration
	// Try runs a trial; Parallel is how many may run side by side.
	Try      Try
	Parallel int
	// Kinds tells violations of one property apart, by experiment; nil: they are not.
	Kinds FaultKinds
	// Flags follow the command that repeats a find, as in " --on local"; "": none.
	Flags string
	// OnProgress is told how it goes, after each batch and each find; nil: nobody is.
	OnProgress func(Tally)
	// OnSave takes all that it has come to, now and then, for Resume to go on from; nil:
	// nobody does.
	OnSave func(Tally)
}

// Tally is what a search has come to.
type Tally struct {
	Schedules int      `json:"schedules"`     // that were run
	Refused   int      `json:"refused"`       // of these could not be run
	Why       string   `json:"why,omitempty"` // the first of them could not
	Failed    []Failed `json:"failed,omitempty"`
	// Undecided is why a verdict was inconclusive for the first time, other than that its schedule tested nothing.
	Undecided string `json:"undecided,omitempty"`
	// Verdicts counts the trials by property and verdict.
	Verdicts  map[string]map[string]int `json:"verdicts"`
	Next      int                       `json:"next"` // the number of the first schedule that it has not got to
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

// maxFailed is how many of these are kept.
const maxFailed = 20

// Find is a breach, and the schedule that shows it.
type Find struct {
	FindID
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

// saveInterval is how often what a search has come to is kept while it goes on.
const saveInterval = 10 * time.Second

// Resume goes on from what an earlier run of the same search has come to.
func (s *Search) Resume(ctx context.Context, t Tally) (Tally, error) {
	if err := s.Space.prepare(); err != nil {
		return Tally{}, err
	}
	began, kept := time.Now().Add(-t.Elapsed), time.Now()
	if t.Verdicts == nil {
		t.Verdicts = map[string]map[string]int{}
	}
	drawn := s.drawn()
	for i := range t.Finds {
		if t.Finds[i].CutShort {
			s.shrink(ctx, &t, &t.Finds[i])
		}
	}
	for ctx.Err() == nil && s.Remaining(t) {
		done := s.batch(ctx, drawn, t.Next, s.nextBatch(t))
		for _, d := range done {
			s.addTrial(ctx, &t, d, began)
		}
		t.Next, t.Elapsed = t.Next+len(done), time.Since(began)
		s.observe(t)
		if s.OnSave != nil && time.Since(kept) > saveInterval {
			kept = time.Now()
			s.OnSave(t)
		}
	}
	t.Elapsed = time.Since(began)
	return t, nil
}

// drawn gives the schedule of a number, and the seed of its trial.
func (s *Search) drawn() func(number int) (*Schedule, uint64) {
	if !s.Space.Exhaust {
		return func(number int) (*Schedule, uint64) {
			seed := s.Seed + uint64(number)
			return s.Space.Draw(seed), seed
		}
	}
	all := s.Space.All()
	s.Schedules = len(all)
	return func(number int) (*Schedule, uint64) { return all[number], exhaustSeed }
}

// Remaining says whether anything is left to do of a search that has come to that.
func (s *Search) Remaining(t Tally) bool {
	return s.nextBatch(t) > 0 && (s.For == 0 || t.Elapsed < s.For) && (s.Enough == 0 || len(t.Finds) < s.Enough)
}

// nextBatch is how many schedules the rest of the batch has that comes next; 0: there are no more.
func (s *Search) nextBatch(t Tally) (size int) {
	size = batch - t.Next%batch
	if s.Slow {
		size = 1
	}
	if s.Schedules > 0 {
		size = max(0, min(size, s.Schedules-t.Next))
	}
	return size
}

func (s *Search) observe(t Tally) {
	if s.OnProgress != nil {
		s.OnProgress(t)
	}
}

// batch draws schedules and runs them, side by side. From the first on that was not
// done when ctx ended they are left out, so that Resume begins with it.
func (s *Search) batch(ctx context.Context, drawn func(int) (*Schedule, uint64), number, size int) []trial {
	all := make([]trial, size)
	next := make(chan int)
	var running sync.WaitGroup
	for range max(1, s.Parallel) {
		running.Go(func() {
			for i := range next {
				schedule, seed := drawn(number + i)
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

// addTrial counts what came of a trial, and shrinks what is new.
func (s *Search) addTrial(ctx context.Context, t *Tally, d trial, began time.Time) {
	t.Schedules++
	switch {
	case d.result.Failure != "":
		if len(t.Failed) < maxFailed {
			t.Failed = append(t.Failed, Failed{d.number, d.result.Failure, d.schedule})
		}
	case d.result.Skipped != "":
		t.Refused++
		t.Why = cmp.Or(t.Why, d.result.Skipped)
	}
	for _, r := range d.result.Results {
		if t.Verdicts[r.Property] == nil {
			t.Verdicts[r.Property] = map[string]int{}
		}
		t.Verdicts[r.Property][r.Verdict]++
		if s.Space.counts(r.Property) && r.Cause != checker.Vacuous {
			t.Undecided = cmp.Or(t.Undecided, r.Reason)
		}
	}
	for _, property := range s.Space.violated(d.result) {
		b := s.breach(ctx, s.Space.job(d.schedule), d.seed, property)
		if i := slices.IndexFunc(t.Finds, func(f Find) bool { return f.FindID == b }); i >= 0 {
			t.Finds[i].Times++
			continue
		}
		if s.Enough > 0 && len(t.Finds) >= s.Enough {
			continue
		}
		f := Find{FindID: b, Number: d.number, Seed: d.seed, Times: 1, At: time.Since(began), Drawn: d.schedule,
			Shrunk: d.schedule, Violation: first(d.result, b)}
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
	s.ShrinkFind(ctx, f)
	f.CutShort = ctx.Err() != nil
	t.Shrinking = false
}

// ShrinkFind makes a find's schedule as small as there is time for.
func (s *Search) ShrinkFind(ctx context.Context, f *Find) {
	until := time.Now().Add(s.Shrink)
	f.Shrunk = shrink(f.Drawn, func(c *Schedule) bool {
		f.Tries++
		r := s.Try(ctx, s.Space.job(c), f.Seed)
		if !s.Space.Breaks(r, f.Property) || !c.has(f.kinds()) {
			return false
		}
		f.Violation = first(r, f.FindID)
		return true
	}, func() bool { return ctx.Err() != nil || time.Now().After(until) })
}

// first is the violation that a breach is about.
func first(r suite.Result, b FindID) checker.Violation {
	for _, r := range r.Results {
		if r.Property == b.Property && r.Verdict == history.Violated && len(r.Violations) > 0 {
			return r.Violations[0]
		}
	}
	return checker.Violation{}
}
