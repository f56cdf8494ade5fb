package reports

import (
	"encoding/json"
	"io"

	"example.org/lockproof/harness/suite"
)

// ResultsVersion is the version of the results.json format. It grows when a field changes its meaning or is removed;
// new fields do not change it.
const ResultsVersion = 2

// Results is results.json. Durations are in nanoseconds.
type Results struct {
	Version int  `json:"version"`
	Tool    Tool `json:"tool"`
	Run
	ExitCode int                    `json:"exit_code"`
	Summary  string                 `json:"summary"`
	Totals   map[suite.Standing]int `json:"totals"`
	// Answers groups the rows of a lock under test; empty without one.
	Answers   []AnswerGroup `json:"answers,omitempty"`
	Scenarios []*Row        `json:"scenarios"`
}

// Tool identifies the program that wrote the results.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Go      string `json:"go"`
}

// Results is the content of results.json.
func (r *Report) Results() Results {
	results := Results{
		Version: ResultsVersion, Tool: Tool{Name: "lockproof", Version: r.Run.Version, Go: r.Go}, Run: r.Run,
		ExitCode: r.ExitCode(), Summary: r.Summary(), Totals: r.Totals(), Scenarios: append([]*Row{}, r.Rows...),
	}
	results.Started = r.Started.UTC()
	if r.UnderTest() {
		results.Answers = r.Answers()
	} else {
		results.Lock = LockUnderTest{}
	}
	return results
}

// WriteResults writes results.json.
func (r *Report) WriteResults(w io.Writer) error { return WriteJSON(w, r.Results()) }

// WriteJSON writes a report as indented JSON.
func WriteJSON(w io.Writer, report any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}
