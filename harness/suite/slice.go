package suite

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockproof/harness/trial"
	"lockproof/scenarios"
)

// Slice is one part of what is spread over several machines: the Index-th, from 1,
// of Count. The zero value is the whole.
type Slice struct {
	Index int `json:"index"`
	Count int `json:"count"`
}

// MaxSlices is into how many parts anything is split at most: as many as an array
// job of AWS Batch has.
const MaxSlices = 10_000

var sliceForm = regexp.MustCompile(`^([0-9]{1,5})/([0-9]{1,5})$`)

// ParseSlice reads "17/100", the 17th of a hundred slices.
func ParseSlice(text string) (Slice, error) {
	m := sliceForm.FindStringSubmatch(text)
	if m == nil {
		return Slice{}, fmt.Errorf("invalid slice %q: want INDEX/COUNT, for example 17/100", text)
	}
	index, _ := strconv.Atoi(m[1]) // the form has digits only
	count, _ := strconv.Atoi(m[2])
	switch {
	case count < 1 || count > MaxSlices:
		return Slice{}, fmt.Errorf("%s: there are from 1 to %d slices", text, MaxSlices)
	case index < 1 || index > count:
		return Slice{}, fmt.Errorf("%s: the slices of %d are 1/%d to %d/%d", text, count, count, count, count)
	}
	return Slice{index, count}, nil
}

func (s Slice) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// ExpandPath puts the slice's number where a path has {slice}: a job that no shell starts cannot
// do it by itself.
func (s Slice) ExpandPath(path string) string {
	return strings.ReplaceAll(path, "{slice}", strconv.Itoa(s.Index))
}

// Slice gives the rows of which one slice runs trials, in the suite's order, each
// with its share of them. Which these are follows from the suite and the cluster
// alone: the trials are dealt out in turn, those of the row that is likely to take
// longest first and those that are skipped last. So every trial is in exactly one
// slice, no slice has more to do than another by more than the longest trial, and
// each has something to run: fewer trials to run than slices are an error.
func (o Options) Slice(jobs []Job, s Slice) ([]Job, error) {
	lengths := make([]time.Duration, len(jobs)) // 0: skipped
	order := make([]int, len(jobs))
	running, each := 0, max(o.Trials, 1)
	for i, j := range jobs {
		p, err := o.newPlan(j)
		if err != nil {
			return nil, err
		}
		if p.Skip() == "" {
			lengths[i] = estimatedDuration(p)
			running += each
		}
		order[i] = i
	}
	if running < s.Count {
		return nil, fmt.Errorf("%s to run cannot be split into %d slices: ask for more --trials, or for fewer slices",
			trials(running), s.Count)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lengths[b], lengths[a]) })
	shares := make([]Share, len(jobs))
	for dealt, i := range order {
		before := dealt * each % s.Count // the place of the row's first trial in the turn
		shares[i] = Share{First: (s.Index - 1 - before + s.Count) % s.Count, Step: s.Count}
	}
	var part []Job
	for i, j := range jobs {
		if j.Share = shares[i]; j.Share.Count(each) > 0 {
			part = append(part, j)
		}
	}
	return part, nil
}

// Share says which of a row's trials are run: the First, from 0, and each Step-th
// after it. The zero value is all of them.
type Share struct{ First, Step int }

// Count is how many of so many trials are in the share.
func (s Share) Count(trials int) int {
	return max(0, (trials-s.First+s.step()-1)/s.step())
}

func (s Share) step() int { return max(s.Step, 1) }

// Planned is how many trials of the jobs are to be run.
func (o Options) Planned(jobs []Job) int {
	n := 0
	for _, j := range jobs {
		n += j.Share.Count(max(o.Trials, 1))
	}
	return n
}

// The parts of the time that a trial is likely to take.
const (
	startLength   = 500 * time.Millisecond // of a cluster
	acquireLength = 0.2                    // in TTLs: some acquires wait for a holder's expiry
)

// estimatedDuration is about how long a trial of the plan takes in real time: what its
// script waits for and what its workload lasts. It need not be right, only
// alike for rows that are alike.
func estimatedDuration(p *trial.Plan) time.Duration {
	total := startLength
	for _, s := range p.Script {
		total += s.Wait.In(p.TTL)
		if s.Verb == scenarios.VerbAcquire {
			total += time.Duration(acquireLength * float64(p.TTL) * float64(len(s.Targets)))
		}
	}
	if p.Workload != nil {
		total += p.Workload.For.In(p.TTL)
	}
	return total
}

// Fingerprint tells suites apart: two have the same one if their rows are the
// same, scenarios' contents included, wherever their files lie.
func Fingerprint(jobs []Job) (string, error) {
	sum := sha256.New()
	encoder := json.NewEncoder(sum)
	for _, j := range jobs {
		s := *j.Scenario
		s.File = ""
		j.Scenario = &s
		if err := encoder.Encode(j); err != nil {
			return "", fmt.Errorf("take the fingerprint of %s: %w", j.Name(), err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func trials(n int) string {
	if n == 1 {
		return "1 trial"
	}
	return strconv.Itoa(n) + " trials"
}
