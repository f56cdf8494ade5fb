package suite

import (
	"fmt"
	"strconv"
	"strings"
)

// Auto stands for the slice that the engine says which runs this process.
const Auto = "auto"

// ciEngine starts one job many times, and tells each which of them it is.
type ciEngine struct {
	name string
	// index and count are environment variables; no count: it does not tell.
	index, count string
	first        int // the index of the first
}

// ciEngines are those that are known, with what their manuals say: Kubernetes,
// "Indexed Job for Parallel Processing with Static Work Assignment"; AWS Batch, "job
// environment variables"; GitLab, "predefined variables" with parallel; CircleCI,
// "built-in environment variables"; Buildkite, "environment variables". GitHub sets
// none: a workflow hands over strategy.job-index and strategy.job-total by these names.
var ciEngines = []ciEngine{
	{"a Kubernetes Indexed Job", "JOB_COMPLETION_INDEX", "", 0},
	{"AWS Batch", "AWS_BATCH_JOB_ARRAY_INDEX", "AWS_BATCH_JOB_ARRAY_SIZE", 0},
	{"GitLab", "CI_NODE_INDEX", "CI_NODE_TOTAL", 1},
	{"CircleCI", "CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0},
	{"Buildkite", "BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0},
	{"a GitHub matrix", "STRATEGY_JOB_INDEX", "STRATEGY_JOB_TOTAL", 0},
}

// FindSlice reads "17/100"; or "auto", which is the slice that the engine's variables
// say, and "auto/100" where these do not say of how many. look gives an environment
// variable, "" for one that is not set.
func FindSlice(text string, look func(string) string) (Slice, error) {
	after, auto := strings.CutPrefix(text, Auto)
	if !auto {
		return ParseSlice(text)
	}
	count, given := strings.CutPrefix(after, "/")
	if after != "" && (!given || !sliceForm.MatchString("1/"+count)) {
		return Slice{}, fmt.Errorf("invalid slice %q: want INDEX/COUNT, for example 17/100, or auto or auto/100", text)
	}
	e, err := detectEngine(look)
	if err != nil {
		return Slice{}, err
	}
	index, err := number(e.index, look(e.index))
	if err != nil {
		return Slice{}, err
	}
	if count, err = e.jobCount(count, look); err != nil {
		return Slice{}, err
	}
	s, err := ParseSlice(fmt.Sprintf("%d/%s", index-e.first+1, count))
	if err != nil {
		return Slice{}, fmt.Errorf("%s is %d, and %s counts from %d: %w", e.index, index, e.name, e.first, err)
	}
	return s, nil
}

// detectEngine is the one whose variable is set.
func detectEngine(look func(string) string) (ciEngine, error) {
	var set []ciEngine
	var known []string
	for _, e := range ciEngines {
		known = append(known, e.index)
		if look(e.index) != "" {
			set = append(set, e)
		}
	}
	switch len(set) {
	case 0:
		return ciEngine{}, fmt.Errorf("no CI engine detected (none of %s is set): write the slice, for example 17/100", strings.Join(known, ", "))
	case 1:
		return set[0], nil
	}
	return ciEngine{}, fmt.Errorf("two CI engines detected, by %s (%s) and %s (%s): write the slice, for example 17/100",
		set[0].index, set[0].name, set[1].index, set[1].name)
}

// jobCount is how many jobs there are: as given, as the engine says, or both alike.
func (e ciEngine) jobCount(given string, look func(string) string) (string, error) {
	told := ""
	if e.count != "" {
		told = look(e.count)
	}
	if told == "" {
		if given == "" {
			return "", fmt.Errorf("%s gives this job's index, but not the number of jobs: write auto/100 for one of a hundred", e.index)
		}
		return given, nil
	}
	n, err := number(e.count, told)
	if err != nil {
		return "", err
	}
	told = strconv.Itoa(n)
	if given != "" && given != told {
		return "", fmt.Errorf("auto/%s, but %s is %s: write auto", given, e.count, told)
	}
	return told, nil
}

// number reads a variable's whole number.
func number(name, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s is %q: want a whole number, not negative", name, text)
	}
	return n, nil
}
