package explore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"example.org/lockproof/internal/input"
)

// ResultsFile is the name of the file with a search's results.
const ResultsFile = "explore.json"

// Results is the content of that file.
type Results struct {
	Version string `json:"version"` // of the program: another version draws other schedules
	Question
	Tally Tally `json:"tally"`
}

// Write writes the file's content.
func (r Results) Write(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// longestResults is the maximum size of the file, in bytes.
const longestResults = 64 << 20

// Read reads a search's results from a folder, to resume it: without the unidentified find, whose schedule is the next
// to run. Without such a file the error wraps fs.ErrNotExist.
func Read(dir string) (Results, error) {
	path := filepath.Join(dir, ResultsFile)
	file, err := input.Open(path)
	if err != nil {
		return Results{}, err
	}
	defer file.Close()
	var r Results
	err = json.NewDecoder(io.LimitReader(file, longestResults)).Decode(&r)
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return Results{}, fmt.Errorf("%s does not have a search's results: %w", path, err)
	}
	r.Tally.Finds = slices.DeleteFunc(r.Tally.Finds, func(f Find) bool { return f.Unidentified })
	return r, nil
}

// check rejects results that no search writes.
func (r *Results) check() error {
	t := r.Tally
	switch {
	case r.Space.Lock == "" || r.Space.TTL < time.Millisecond || r.Space.TTL > time.Hour:
		return errors.New("want a lock, and a TTL from 1ms to 1h")
	case t.Schedules < 0 || t.Next < t.Schedules || t.Next > 1<<53 || r.Schedules < 0 || r.Enough < 0 || t.Elapsed < 0:
		return errors.New("the counts are negative or contradict each other")
	}
	for _, f := range t.Finds {
		if !f.Drawn.valid() || !f.Shrunk.valid() {
			return fmt.Errorf("find %d has an invalid schedule", f.Number)
		}
	}
	return nil
}

func (s *Schedule) valid() bool {
	if s == nil || s.TTL < time.Millisecond || s.Nodes < 1 || s.Clients < 1 {
		return false
	}
	for _, step := range s.Steps {
		if step.Verb == "" || len(step.Targets) == 0 || step.Targets[0] == "" {
			return false
		}
	}
	return true
}

// Same reports whether both results are of one search, except for its bounds, so that one can resume from the other.
func (r Results) Same(other Results) bool {
	r.Schedules, r.Enough, r.Tally = other.Schedules, other.Enough, other.Tally
	var mine, theirs bytes.Buffer // JSON omits nil and empty lists alike
	return errors.Join(r.Write(&mine), other.Write(&theirs)) == nil && bytes.Equal(mine.Bytes(), theirs.Bytes())
}
