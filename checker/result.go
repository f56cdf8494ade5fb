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
	// Cause is why the verdict is inconclusive, "" if it is not. Reason begins with it, and says what was missing.
	Cause  Cause  `json:"cause,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Unmet is the first unmet precondition of the script, which ends it early. A violation beside it is not the one that
	// the scenario means to show; a vacuous verdict might be another after the whole script.
	Unmet string `json:"unmet,omitempty"`
	// Violations are the first hundred; Measured["violations"] counts them all. A stalled result keeps them for the
	// reader: they may be artefacts.
	Violations []Violation `json:"violations,omitempty"`
	// Measured are figures about the property, in nanoseconds or counts:
	// grants, contended, longest_wait, longest_gap, ...
	Measured map[string]int64 `json:"measured,omitempty"`
}

// Cause is why a verdict is inconclusive.
type Cause string

// The causes.
const (
	Vacuous    Cause = "vacuous"    // the run tested nothing, or too little
	Stalled    Cause = "stalled"    // the harness was held up: its times prove nothing
	Unknown    Cause = "unknown"    // the second oracle gave up, or a command has an unknown effect on a key
	Unfinished Cause = "unfinished" // the run was cut short
	// Contradicted: the nodes' replies fit no order of the commands that reached them.
	Contradicted Cause = "contradicted"
	// NeedsAllNodes: the lock cannot work with the scenario's background faults.
	NeedsAllNodes Cause = "needs-all-nodes"
)

// NotJudged is the result of a property without a verdict, as of a trial that was interrupted.
func NotJudged(property string) Result {
	r := Result{Property: property}
	r.Undecide(Unfinished, "the trial ended without a verdict")
	return r
}

// Violation is one violation of a property, with its interval on the true clock and the processes involved.
type Violation struct {
	Key       string   `json:"key,omitempty"`
	From      int64    `json:"from"`
	Until     int64    `json:"until"`
	Processes []string `json:"processes"`
	What      string   `json:"what"` // one sentence, with names and times
	// Facts are the history's facts about it, in time order.
	Facts []Fact `json:"facts,omitempty"`
	// PointOfNoReturn is the last time at which ending all faults averts it, if experiments have shown that
	// (checker/cause); nil: it is unknown.
	PointOfNoReturn *int64 `json:"point_of_no_return,omitempty"`
	// Leases are the leases involved, the earlier first.
	Leases []Lease `json:"leases,omitempty"`

	facts   func() []Fact // finds Facts, for reported violations only
	release bool          // of a release that did not return in time
}

// Lease is one lease on the true clock. It ends at the earliest of its deadline, the call of release, the report of its
// loss and the kill of its client; Until is exclusive.
type Lease struct {
	Client string `json:"client"`
	ID     int    `json:"id"` // of the acquire
	Key    string `json:"key"`
	Token  string `json:"token,omitempty"`
	Fence  int64  `json:"fence,omitempty"`
	Asked  int64  `json:"asked"` // invoke of the acquire
	From   int64  `json:"from"`
	Until  int64  `json:"until"`
	// Ended is what ended it: deadline, release, lost or killed.
	Ended string `json:"ended"`
}

// Ownership is an interval during which a key on a node had one token, as the history's commands, replies and looks
// show it.
type Ownership struct {
	Node  string `json:"node"`
	Key   string `json:"key"`
	Token string `json:"token"`
	Owner string `json:"owner,omitempty"` // the client that used the token, if known
	From  int64  `json:"from"`
	Until int64  `json:"until"`
	// Ended is what ended it: one of the Ownership constants, such as OwnershipExpired.
	Ended string `json:"ended"`
}

// LostUpdate is an acknowledged write to a register that another write with the same base replaced.
type LostUpdate struct {
	Client, Value string
	By            string // the version that replaced it
}

// Verdict is the checker's output for one history.
type Verdict struct {
	Header  history.Header `json:"header"`
	Results []Result       `json:"results"` // one for each property, in display order
	// Traffic is the verdict on the raw events of the links, beside all properties.
	Traffic *traffic.Report `json:"traffic"`
}

// Of returns the result of a property.
func (v Verdict) Of(property string) Result {
	for _, r := range v.Results {
		if r.Property == property {
			return r
		}
	}
	return NotJudged(property)
}
