package explore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
)

// batch is the number of schedules between two checks of the bounds.
const batch = 128

// Question determines the results of a search.
type Question struct {
	Space Space `json:"space"`
	// Program is the fingerprint of a worker's files; "" for a lock in this program.
	Program string `json:"program,omitempty"`
	Seed    uint64 `json:"seed"`
	// Schedules is the maximum number of schedules; 0: no maximum. A started batch is completed.
	// Exhaustive searches set it to the size of the small scope.
	Schedules int `json:"schedules,omitempty"`
	// Enough ends the search after this many different finds; 0: no limit.
	Enough int `json:"enough,omitempty"`
}

// Search is one search through a space.
type Search struct {
	Question
	For time.Duration // the maximum duration; 0: no maximum
	// Slow: a trial takes seconds, so the bounds are checked after each.
	Slow bool
	// Shrink is the maximum time for shrinking one find; 0: finds are not shrunk.
	Shrink time.Duration
	// Try runs a trial; Parallel is the maximum number of concurrent trials.
	Try      Try
	Parallel int
	// Kinds distinguishes violations of one property by experiment; nil: they count as one.
	Kinds FaultKinds
	// Flags are added to the command that repeats a find, for example " --on local".
	Flags string
	// OnProgress, unless nil, is called after each batch and when shrinking begins.
	OnProgress func(Tally)
	// OnSave, unless nil, is called about every saveInterval with a tally for Resume.
	OnSave func(Tally)
}

// Tally has the results of a search so far.
type Tally struct {
	Schedules int      `json:"schedules"`     // run, refused or failed
	Refused   int      `json:"refused"`       // schedules that were skipped
	Why       string   `json:"why,omitempty"` // the reason of the first skip
	Failed    []Failed `json:"failed,omitempty"`
	// Undecided is the reason of the first inconclusive verdict, vacuous ones aside.
	Undecided string `json:"undecided,omitempty"`
	// Verdicts counts the trials by property and verdict.
	Verdicts  map[string]map[string]int `json:"verdicts"`
	Next      int                       `json:"next"` // the number of the next schedule to run
	Elapsed   time.Duration             `json:"elapsed"`
	Finds     []Find                    `json:"finds,omitempty"` // in the order of their discovery
	Shrinking bool                      `json:"-"`
}

// Failed is a schedule on which the harness or the lock's process failed.
type Failed struct {
	Number   int       `json:"number"`
	Why      string    `json:"why"`
	Schedule *Schedule `json:"schedule"`
}

// maxFailed bounds Tally.Failed.
const maxFailed = 20

// Find is a violation, and a schedule that shows it.
type Find struct {
	FindID
	Number   int           `json:"number"` // of the first schedule that showed it, from 0
	Seed     uint64        `json:"seed"`   // of its trial
	Times    int           `json:"times"`  // schedules that showed it
	At       time.Duration `json:"at"`     // since the search began
	Drawn    *Schedule     `json:"drawn"`
	Shrunk   *Schedule     `json:"shrunk"`
	Tries    int           `json:"tries"`               // trials of the shrinking
	CutShort bool          `json:"cut_short,omitempty"` // an interrupt ended the shrinking
	// Unidentified: an interrupt ended the experiments that identify it. A resumed search runs its schedule again.
	Unidentified bool              `json:"unidentified,omitempty"`
	Violation    checker.Violation `json:"violation"`
}

// trial is a schedule of a batch and its result.
type trial struct {
	number   int
	seed     uint64
	schedule *Schedule
	result   suite.Result
	done     bool // before an interrupt
}

// Run searches until a bound is reached or ctx ends. The error means that the lock is unknown.
func (s *Search) Run(ctx context.Context) (Tally, error) { return s.Resume(ctx, Tally{}) }

// saveInterval separates two calls of OnSave.
const saveInterval = 10 * time.Second

// Resume continues an earlier run of the same search from its tally.
func (s *Search) Resume(ctx context.Context, t Tally) (Tally, error) {
	if err := s.Space.prepare(); err != nil {
		return Tally{}, err
	}
	began, saved := time.Now().Add(-t.Elapsed), time.Now()
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
			if !s.addTrial(ctx, &t, d, began) {
				break
			}
			t.Next++
		}
		t.Elapsed = time.Since(began)
		s.observe(t)
		if s.OnSave != nil && time.Since(saved) > saveInterval {
			saved = time.Now()
			s.OnSave(t)
		}
	}
	t.Elapsed = time.Since(began)
	return t, nil
}

// drawn returns a function from a schedule's number to the schedule and its trial's seed.
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

// Remaining reports whether a search with this tally must continue.
func (s *Search) Remaining(t Tally) bool {
	return s.nextBatch(t) > 0 && (s.For == 0 || t.Elapsed < s.For) && (s.Enough == 0 || len(t.Finds) < s.Enough)
}

// nextBatch is the number of schedules until the next check of the bounds; 0: none remain.
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

// batch draws schedules and runs them concurrently. If ctx ends, it returns those before the first unfinished one, with
// which Resume then begins.
func (s *Search) batch(ctx context.Context, drawn func(int) (*Schedule, uint64), number, size int) []trial {
	all := make([]trial, size)
	var running errgroup.Group
	running.SetLimit(max(1, s.Parallel))
	for i := 0; i < size && ctx.Err() == nil; i++ {
		running.Go(func() error {
			schedule, seed := drawn(number + i)
			result := s.Try(ctx, s.Space.job(schedule), seed)
			all[i] = trial{number + i, seed, schedule, result, ctx.Err() == nil}
			return nil
		})
	}
	_ = running.Wait() // a trial that fails is a result
	if i := slices.IndexFunc(all, func(t trial) bool { return !t.done }); i >= 0 {
		return all[:i]
	}
	return all
}

// addTrial adds a trial's result to the tally, and shrinks new finds. false: an interrupt came before its violations
// were identified, so that it counts for nothing but a find.
func (s *Search) addTrial(ctx context.Context, t *Tally, d trial, began time.Time) bool {
	var found []Find
	for _, property := range s.Space.violated(d.result) {
		id := s.findID(ctx, s.Space.job(d.schedule), d.seed, property)
		f := Find{FindID: id, Number: d.number, Seed: d.seed, Times: 1, At: time.Since(began), Drawn: d.schedule,
			Shrunk: d.schedule, Violation: firstViolation(d.result, id)}
		if s.Kinds != nil && ctx.Err() != nil {
			f.Faults, f.Unidentified = unknownFaults, true
			t.Finds = append(t.Finds, f)
			return false
		}
		found = append(found, f)
	}
	s.count(t, d)
	for _, f := range found {
		if i := slices.IndexFunc(t.Finds, func(other Find) bool { return other.FindID == f.FindID }); i >= 0 {
			t.Finds[i].Times++
			continue
		}
		if s.Enough > 0 && len(t.Finds) >= s.Enough {
			continue
		}
		if s.Shrink > 0 {
			s.shrink(ctx, t, &f)
		}
		t.Finds = append(t.Finds, f)
	}
	return true
}

// count counts a trial and its verdicts.
func (s *Search) count(t *Tally, d trial) {
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
}

func (s *Search) shrink(ctx context.Context, t *Tally, f *Find) {
	t.Shrinking = true
	s.observe(*t)
	f.Tries = 0
	s.ShrinkFind(ctx, f)
	f.CutShort = ctx.Err() != nil
	t.Shrinking = false
}

// ShrinkFind shrinks a find's schedule for at most the Shrink time. The smaller schedule needs the same kinds of
// faults: else it would show another defect under this name.
func (s *Search) ShrinkFind(ctx context.Context, f *Find) {
	until := time.Now().Add(s.Shrink)
	f.Shrunk = shrink(f.Drawn, func(c *Schedule) bool {
		f.Tries++
		r := s.Try(ctx, s.Space.job(c), f.Seed)
		if !s.Space.Breaks(r, f.Property) ||
			s.findID(ctx, s.Space.job(c), f.Seed, f.Property) != f.FindID || ctx.Err() != nil {
			return false
		}
		f.Violation = firstViolation(r, f.FindID)
		return true
	}, func() bool { return ctx.Err() != nil || time.Now().After(until) })
}

func firstViolation(r suite.Result, b FindID) checker.Violation {
	for _, r := range r.Results {
		if r.Property == b.Property && r.Verdict == history.Violated && len(r.Violations) > 0 {
			return r.Violations[0]
		}
	}
	return checker.Violation{}
}
