package checker

import (
	"example.org/lockproof/checker/traffic"
	"example.org/lockproof/harness/history"
)

// Result is the verdict on one property of one history.
type Result struct {
	Property string `json:"property"`
	// Verdict is history.Holds, history.Violated or history.Inconclusive.
	Verdict string `json:"verdict"`
	// Cause is why the verdict is inconclusive, "" where it is not. Reason begins with
	// it, and says what was missing.
	Cause  Cause  `json:"cause,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Unmet is the first step of the script that did not come out as it had to, if
	// the property is violated all the same: not as the scenario means to show.
	Unmet string `json:"unmet,omitempty"`
	// Violations are the first hundred; Measured["violations"] counts them
	// all. A stalled result keeps them for the reader: they may be artefacts.
	Violations []Violation `json:"violations,omitempty"`
	// Measured are figures about the property, in nanoseconds or counts:
	// grants, contended, longest_wait, longest_gap, ...
	Measured map[string]int64 `json:"measured,omitempty"`
}

// Cause is why a verdict is inconclusive.
type Cause string

// The causes.
const (
	Vacuous    Cause = "vacuous"    // the run put nothing to the test, or too little of it
	Stalled    Cause = "stalled"    // the harness was held up: its times are not what they seem
	Unknown    Cause = "unknown"    // the second oracle gave up, or a command did to a lock's key what we do not know
	Unfinished Cause = "unfinished" // the run was cut short
	// Contradicted: the nodes' answers fit no order of the commands that reached them.
	Contradicted Cause = "contradicted"
	// Unstaged: the scenario's setting did not come about with this lock.
	Unstaged Cause = "unstaged"
)

// NotJudged is the result on a property that nobody has judged.
func NotJudged(property string) Result {
	r := Result{Property: property}
	r.Undecide(Vacuous, "not judged")
	return r
}

// Violation is one breach of a property: over which stretch of the true clock,
// and who took part.
type Violation struct {
	Key       string   `json:"key,omitempty"`
	From      int64    `json:"from"`
	Until     int64    `json:"until"`
	Processes []string `json:"processes"`
	What      string   `json:"what"` // one sentence, with names and times
	// Facts are what the history shows of it, in the order of time.
	Facts []Fact `json:"facts,omitempty"`
	// PointOfNoReturn is the last time until which ending all faults averts it, where
	// experiments have shown that (checker/cause); nil: nobody knows.
	PointOfNoReturn *int64 `json:"point_of_no_return,omitempty"`
	// Leases are those that took part, the earlier first.
	Leases []Lease `json:"leases,omitempty"`

	facts   func() []Fact // finds Facts, which only what is shown needs
	release bool          // it is of a release that did not return
}

// Lease is one tenure as its client believed it, on the true clock. It ends at
// the earliest of its deadline, the call of release and the news of its loss;
// Until is exclusive.
type Lease struct {
	Client string `json:"client"`
	ID     int    `json:"id"` // of the acquire
	Key    string `json:"key"`
	Token  string `json:"token,omitempty"`
	Fence  int64  `json:"fence,omitempty"`
	Asked  int64  `json:"asked"` // invoke of the acquire
	From   int64  `json:"from"`
	Until  int64  `json:"until"`
	// Ended says what ended it: deadline, release, lost or killed.
	Ended string `json:"ended"`
}

// Tenure is one stretch for which a token owned a key on a node, as the
// commands, replies and looks of the history show it.
type Tenure struct {
	Node  string `json:"node"`
	Key   string `json:"key"`
	Token string `json:"token"`
	Owner string `json:"owner,omitempty"` // the client that drew the token
	From  int64  `json:"from"`
	Until int64  `json:"until"`
	// Ended says how it ended: deleted, expired, forgotten (restart), flushed,
	// removed by another, moved (its slot went to another node), vanished (nothing in the history tells why), or open
	// at the end of the history.
	Ended string `json:"ended"`
}

// LostUpdate is an acknowledged write to a register whose place another took that
// was derived from the same version.
type LostUpdate struct {
	Client, Value string
	By            string // the version that took its place
}

// Verdict is everything that the checker says of one history.
type Verdict struct {
	Header  history.Header `json:"header"`
	Results []Result       `json:"results"` // one for each property, in the order of properties
	// Traffic is what the raw events on the links show, beside all properties.
	Traffic *traffic.Report `json:"traffic"`
}

// Of returns the result on a property.
func (v Verdict) Of(property string) Result {
	for _, r := range v.Results {
		if r.Property == property {
			return r
		}
	}
	return NotJudged(property)
}
