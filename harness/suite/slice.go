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

// Slice is one part of a run that is split over several machines: the Index-th, from 1, of Count. The zero value is
// the whole run.
type Slice struct {
	Index int `json:"index"`
	Count int `json:"count"`
}

// maxSlices is the maximum size of an array job of AWS Batch.
const maxSlices = 10_000

var sliceForm = regexp.MustCompile(`^([0-9]{1,5})/([0-9]{1,5})$`)

// ParseSlice parses "17/100", the 17th of a hundred slices. Some CI systems count jobs from 0, so 0/100 means
// 100/100. It expands $NAME from the environment, since a container may have no shell.
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
	index, _ := strconv.Atoi(m[1]) // sliceForm matches only digits
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

// ExpandPath replaces {slice} in a path by the slice's number, for jobs without a shell.
func (s Slice) ExpandPath(path string) string {
	return strings.ReplaceAll(path, "{slice}", strconv.Itoa(s.Index))
}

// tasks lists the trials to run in the order of the rows: all, or those of one slice. Trials go to the slices in
// turn, skipped ones last, so each is in exactly one slice and each slice has at least one to run. Fewer trials than
// slices are an error.
func (o Options) tasks(jobs []Job) ([]task, error) {
	var all []task
	runnable := 0
	for _, j := range jobs {
		row := o.row(j)
		all = append(all, row...)
		if row[0].Result.Skipped == "" {
			runnable += len(row)
		}
	}
	if runnable < o.Slice.Count {
		return nil, fmt.Errorf("trials to run: %d, which cannot be split into %d slices: ask for more --trials, or for "+
			"fewer slices", runnable, o.Slice.Count)
	}
	if o.Slice.Count == 0 {
		return all, nil
	}
	var mine []task
	turn, skippedTurn := 0, runnable
	for _, t := range all {
		at := &turn
		if t.Result.Skipped != "" {
			at = &skippedTurn
		}
		if *at%o.Slice.Count == o.Slice.Index-1 {
			mine = append(mine, t)
		}
		*at++
	}
	return mine, nil
}

// Planned returns the number of trials of each row, by the row's name. It fails if the slice cannot be made.
func (o Options) Planned(jobs []Job) (map[string]int, error) {
	tasks, err := o.tasks(jobs)
	planned := map[string]int{}
	for _, t := range tasks {
		planned[t.Result.Name()]++
	}
	return planned, err
}

// Fingerprint identifies a suite by its rows and the scenarios' contents, without the paths of their files.
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
