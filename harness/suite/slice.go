package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"example.org/lockproof/internal/wording"
)

// Slice is one part of what is spread over several machines: the Index-th, from 1,
// of Count. The zero value is the whole.
type Slice struct {
	Index int `json:"index"`
	Count int `json:"count"`
}

// maxSlices is into how many parts anything is split at most: as many as an array
// job of AWS Batch has.
const maxSlices = 10_000

var sliceForm = regexp.MustCompile(`^([0-9]{1,5})/([0-9]{1,5})$`)

// ParseSlice reads "17/100", the 17th of a hundred slices. Engines count their jobs
// from 0 or from 1: 0/100 is another name of 100/100, so that either has each slice.
// $NAME is the environment's, since a container may have no shell to put it there.
func ParseSlice(text string) (Slice, error) {
	var unset []string
	expanded := os.Expand(text, func(name string) string {
		value := os.Getenv(name)
		if value == "" {
			unset = append(unset, name)
		}
		return value
	})
	if unset != nil {
		return Slice{}, fmt.Errorf("%s: the environment has no %s", text, wording.List(unset))
	}
	m := sliceForm.FindStringSubmatch(expanded)
	if m == nil {
		return Slice{}, fmt.Errorf("invalid slice %q: want INDEX/COUNT, for example 17/100", expanded)
	}
	index, _ := strconv.Atoi(m[1]) // the form has digits only
	count, _ := strconv.Atoi(m[2])
	switch {
	case count < 1 || count > maxSlices:
		return Slice{}, fmt.Errorf("%s: there are from 1 to %d slices", expanded, maxSlices)
	case index > count:
		return Slice{}, fmt.Errorf("%s: the slices of %d are 1/%d to %d/%d", expanded, count, count, count, count)
	case index == 0:
		index = count
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
// with its share of them. The trials are dealt out in turn, those that are skipped
// last: each is in exactly one slice, and each slice has something to run. Fewer
// trials to run than slices are an error.
func (o Options) Slice(jobs []Job, s Slice) ([]Job, error) {
	var order, skipped []int
	for i, j := range jobs {
		p, err := o.Plan(j)
		switch {
		case err != nil:
			return nil, err
		case p.Skip() == "":
			order = append(order, i)
		default:
			skipped = append(skipped, i)
		}
	}
	each := max(o.Trials, 1)
	if running := len(order) * each; running < s.Count {
		return nil, fmt.Errorf("%s to run cannot be split into %d slices: ask for more --trials, or for fewer slices",
			trials(running), s.Count)
	}
	shares := make([]Share, len(jobs))
	for dealt, i := range append(order, skipped...) {
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
