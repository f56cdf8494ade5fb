package reports

import (
	"encoding/json"
	"io"
	"time"

	"example.org/lockproof/harness/suite"
)

// ResultsVersion is the version of the results.json format. It grows when a
// field changes its meaning or goes away; new fields may come without.
const ResultsVersion = 2

// Results is results.json. Durations are in nanoseconds.
type Results struct {
	Version     int                   `json:"version"`
	Tool        Tool                  `json:"tool"`
	Started     time.Time             `json:"started"`
	Elapsed     time.Duration         `json:"elapsed"`
	Interrupted bool                  `json:"interrupted,omitempty"`
	Planned     int                   `json:"planned"`
	ExitCode    int                   `json:"exit_code"`
	Summary     string                `json:"summary"`
	Options     suite.Options         `json:"options"`
	Slice       *Slice                `json:"slice,omitempty"`
	Incomplete  *MissingSlices        `json:"incomplete,omitempty"`
	Totals      map[suite.Outcome]int `json:"totals"`
	// Lock is the lock under test, and Answers what the run says of it; empty where there is none.
	Lock      *LockUnderTest `json:"lock,omitempty"`
	Answers   []AnswerGroup  `json:"answers,omitempty"`
	Scenarios []*Row         `json:"scenarios"`
}

// Tool is what wrote the results.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Go      string `json:"go"`
}

// Results gives the content of results.json.
func (r *Report) Results() Results {
	results := Results{
		Version: ResultsVersion,
		Tool:    Tool{Name: "lockproof", Version: r.Version, Go: r.Go},
		Started: r.Started.UTC(), Elapsed: r.Elapsed,
		Interrupted: r.Interrupted, Planned: r.Planned,
		ExitCode: r.ExitCode(), Summary: r.Summary(),
		Options: r.Options,
		Slice:   r.Slice, Incomplete: r.Incomplete,
		Totals:    r.Totals(),
		Scenarios: append([]*Row{}, r.Rows...),
	}
	if r.UnderTest() {
		results.Lock, results.Answers = &r.Lock, r.Answers()
	}
	return results
}

// WriteResults writes results.json.
func (r *Report) WriteResults(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r.Results())
}
