package explore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"example.org/lockproof/internal/input"
)

// ResultsFile is the name of the file that has what a search has come to.
const ResultsFile = "explore.json"

// Results are what that file holds.
type Results struct {
	Version string `json:"version"` // of the program: another draws other schedules
	Question
	Tally Tally `json:"tally"`
}

// Write writes the file's content.
func (r Results) Write(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// longestResults bounds the file, in bytes.
const longestResults = 64 << 20

// Read reads what a search has left in a folder. An error that says that there is
// nothing wraps fs.ErrNotExist.
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
		return Results{}, fmt.Errorf("%s is not what a search has left: %w", path, err)
	}
	return r, nil
}

// check refuses what no search writes.
func (r *Results) check() error {
	t := r.Tally
	switch {
	case r.Space.Lock == "" || r.Space.TTL < time.Millisecond || r.Space.TTL > time.Hour:
		return errors.New("it names no lock, or no TTL that a lock has")
	case t.Schedules < 0 || t.Next < t.Schedules || t.Next > 1<<53 || r.Schedules < 0 || r.Enough < 0 || t.Elapsed < 0:
		return errors.New("its numbers are not those of a search")
	}
	for _, f := range t.Finds {
		if !f.Drawn.valid() || !f.Shrunk.valid() {
			return fmt.Errorf("the schedule of its find %d is not one", f.Number)
		}
	}
	return nil
}

// valid says whether a schedule that was read back is one.
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

// Same says whether the results are of the same search as others, their bounds aside:
// then one can go on from the other.
func (r Results) Same(other Results) bool {
	r.Schedules, r.Enough, r.Tally = other.Schedules, other.Enough, other.Tally
	var mine, theirs bytes.Buffer // as they are written: there, none and an empty list are one
	return errors.Join(r.Write(&mine), other.Write(&theirs)) == nil && bytes.Equal(mine.Bytes(), theirs.Bytes())
}
