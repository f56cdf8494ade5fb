package reports

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"lockproof/checker"
	"lockproof/harness/suite"
)

// The ranges of the numbers in files that we read. Whatever the files say then
// fits into memory, and no sum of them overflows.
const (
	maxTrials   = 1_000_000 // of a row
	maxPlanned  = 100_000_000
	maxTTL      = 10 * time.Minute
	maxParallel = 256
	maxAttempts = 1000
	// maxCount is the largest whole number that every reader of JSON reads exactly;
	// in nanoseconds it is 104 days.
	maxCount = 1 << 53
	// maxTogether is how long all trials of a run may have taken together.
	maxTogether = 100 * 365 * 24 * time.Hour
)

// ranges collects what is wrong with numbers: the first of them will do.
type ranges struct{ err error }

// check notes a number that is out of its range. The name is that of its field.
func (r *ranges) check(name string, got, least, most int64) {
	if r.err == nil && (got < least || got > most) {
		r.err = fmt.Errorf("%s is %d: it is a number from %d to %d", name, got, least, most)
	}
}

// checkNumbers refuses numbers that no run writes, and those that contradict each
// other.
func (r *Results) checkNumbers(trials []suite.Result) error {
	var in ranges
	in.check("elapsed", int64(r.Elapsed), 0, int64(maxTogether))
	in.check("planned", int64(r.Planned), 0, maxPlanned)
	in.options(r.Options)
	if m := r.Incomplete; m != nil {
		in.check("incomplete.slices", int64(m.Slices), 1, suite.MaxSlices)
		for _, index := range slices.Concat(m.Missing, m.CutShort) {
			in.check("incomplete", int64(index), 1, int64(m.Slices))
		}
	}
	if in.err != nil {
		return in.err
	}
	if s := r.Slice; s != nil && len(s.Rows)*r.Options.Trials < s.Count {
		return fmt.Errorf("slice.count is %d, and its suite has %s of %s each: each slice has one trial at least",
			s.Count, plural(len(s.Rows), "row"), plural(r.Options.Trials, "trial"))
	}
	if err := checkTrials(trials); err != nil {
		return err
	}
	if len(trials) > r.Planned || len(trials) < r.Planned && !r.Interrupted {
		return fmt.Errorf(
			"planned is %d, and it has %s: only a run that is marked as interrupted has fewer, and none has more",
			r.Planned, plural(len(trials), "trial"))
	}
	return nil
}

// checkNumbers is that of Results, for a run that has not ended.
func (b *RunStart) checkNumbers() error {
	var in ranges
	in.check("planned", int64(b.Planned), 0, maxPlanned)
	in.options(b.Options)
	return in.err
}

func (in *ranges) options(o ResultsOptions) {
	in.check("options.trials", int64(o.Trials), 0, maxTrials)
	in.check("options.ttl", int64(o.TTL), 0, int64(maxTTL))
	in.check("options.parallel", int64(o.Parallel), 0, maxParallel)
	in.check("options.retries", int64(o.Retries), 0, maxAttempts)
}

// checkTrials refuses trials with numbers that no trial has, and one that is there
// twice.
func checkTrials(trials []suite.Result) error {
	type id struct {
		row    string
		number int
	}
	seen := map[id]bool{}
	var elapsed, simulated time.Duration
	for _, t := range trials {
		if err := checkTrial(t); err != nil {
			return fmt.Errorf("%s, trial %d: %w", t.Name(), t.Trial, err)
		}
		if seen[id{rowID(t), t.Trial}] {
			return fmt.Errorf("%s, trial %d, is there twice", t.Name(), t.Trial)
		}
		seen[id{rowID(t), t.Trial}] = true
		elapsed, simulated = elapsed+t.Elapsed, simulated+t.Simulated
		if elapsed > maxTogether || simulated > maxTogether {
			return errors.New("its trials have taken more than a hundred years together")
		}
	}
	return nil
}

func checkTrial(t suite.Result) error {
	var in ranges
	in.check("trial", int64(t.Trial), 0, maxTrials-1)
	in.check("attempts", int64(t.Attempts), 0, maxAttempts+1)
	in.check("elapsed", int64(t.Elapsed), 0, maxCount)
	in.check("simulated", int64(t.Simulated), 0, maxCount)
	for _, r := range t.Results {
		for _, name := range slices.Sorted(maps.Keys(r.Measured)) {
			in.check("measured."+name, r.Measured[name], -maxCount, maxCount)
		}
		for _, v := range r.Violations {
			in.violation(v)
		}
	}
	return in.err
}

func (in *ranges) violation(v checker.Violation) {
	in.check("violations.from", v.From, 0, maxCount)
	in.check("violations.until", v.Until, v.From, maxCount)
	for _, f := range v.Facts {
		in.check("facts.time", f.Time, 0, maxCount)
		in.check("facts.event", int64(f.Event), -1, maxCount)
	}
	for _, l := range v.Leases {
		in.check("leases.id", int64(l.ID), 0, maxCount)
		in.check("leases.asked", l.Asked, 0, maxCount)
		in.check("leases.from", l.From, l.Asked, maxCount)
		in.check("leases.until", l.Until, 0, maxCount)
	}
}
