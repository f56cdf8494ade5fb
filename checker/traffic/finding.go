package traffic

import "fmt"

// Finding is a contradiction in the raw events of a history.
type Finding struct {
	About   About  `json:"about"`
	Time    int64  `json:"time"`    // on the true clock, in nanoseconds
	Process string `json:"process"` // the client or node
	Key     string `json:"key"`
	Event   int    `json:"event"` // the index in the history, from 0
	What    string `json:"what"`  // one sentence
}

// About says which part a finding is about.
type About string

const (
	// Cluster: the node, or our recording of it, does not behave as a Redis server.
	Cluster About = "cluster"
	// Lock: the lock under test does not behave as it declares, or has a script that compares nothing.
	Lock About = "lock"
)

// maxFindings limits the findings in a report; all are counted.
const maxFindings = 20

// Report is the verdict on the traffic of a history.
type Report struct {
	// Findings are the first twenty, Count is how many there are.
	Findings []Finding `json:"findings,omitempty"`
	Count    int       `json:"count,omitempty"`
	// Judged are the operations with a verdict. Unjudged have none: the search for an order of them was given up.
	Judged   int `json:"judged"`
	Unjudged int `json:"unjudged,omitempty"`
	// Believed are the grants and extensions that were compared with the replies.
	Believed int `json:"believed"`
}

// About returns the first finding about a part, or nil.
func (r *Report) About(what About) *Finding {
	for i := range r.Findings {
		if r.Findings[i].About == what {
			return &r.Findings[i]
		}
	}
	return nil
}

// add counts a finding, and keeps it if it is one of the first.
func (r *Report) add(f Finding) {
	r.Count++
	if len(r.Findings) < maxFindings {
		r.Findings = append(r.Findings, f)
	}
}

func (f Finding) String() string { return fmt.Sprintf("event %d, %s: %s", f.Event, f.Process, f.What) }
