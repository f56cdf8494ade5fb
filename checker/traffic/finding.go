package traffic

import "fmt"

// Finding is something that the raw events of a history do not bear out.
type Finding struct {
	About   About  `json:"about"`
	Time    int64  `json:"time"`    // on the true clock, in nanoseconds
	Process string `json:"process"` // the client or node
	Key     string `json:"key"`
	Event   int    `json:"event"` // the index in the history, from 0
	What    string `json:"what"`  // one sentence
}

// About says whose fault a finding is.
type About string

const (
	// Cluster: the node, or our recording of it, is not what a Redis server is.
	Cluster About = "cluster"
	// Lock: the lock under test does what it does not say.
	Lock About = "lock"
)

// maxFindings is how many findings are told; all are counted.
const maxFindings = 20

// Report is what the traffic of a history shows.
type Report struct {
	// Findings are the first twenty, Count is how many there are.
	Findings []Finding `json:"findings,omitempty"`
	Count    int       `json:"count,omitempty"`
	// Judged are the commands that were judged; Unjudged are those that were not,
	// since the search for an order of them was given up.
	Judged   int `json:"judged"`
	Unjudged int `json:"unjudged,omitempty"`
	// Believed are the grants and extensions that were held against the replies.
	Believed int `json:"believed"`
}

// About gives the first finding about something, nil if there is none.
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
