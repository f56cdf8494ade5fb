package validate

import (
	"time"

	"example.org/lockproof/validate/deploy"
	"example.org/lockproof/validate/settings"
)

// Verdict says whether settings are safe.
type Verdict string

// The verdicts. Inconclusive is never folded into safe.
const (
	Safe         Verdict = "safe"
	Unsafe       Verdict = "unsafe"
	Inconclusive Verdict = "inconclusive"
)

// Row is the result for one crash kind and one TTL.
type Row struct {
	Point
	Return  deploy.Return `json:"return"`
	Verdict Verdict       `json:"verdict"`
	Reason  string        `json:"reason"` // one sentence
	// Link is the broken link of the chain that prevents a verdict.
	Link *deploy.Link `json:"link,omitempty"`
	// Condition limits a safe verdict, besides the chain.
	Condition string `json:"condition,omitempty"`
	Tally     Tally  `json:"trials"`
}

// Hazard is a way to lose a lock besides a crash of a node.
type Hazard struct {
	Name    string         `json:"name"`
	ID      string         `json:"id"`
	Verdict Verdict        `json:"verdict"`
	Reason  string         `json:"reason"`
	Place   settings.Place `json:"place"`
	Tally   Tally          `json:"trials"`
}

// Answer is the whole result.
type Answer struct {
	Question  Question       `json:"-"`
	Verdict   Verdict        `json:"verdict"`
	Rows      []Row          `json:"rows"`
	Server    *deploy.Server `json:"server"`
	Takeovers []TakeoverRow  `json:"takeovers,omitempty"`
	Hazards   []Hazard       `json:"hazards,omitempty"`
	// Assumptions are those of every safe verdict.
	Assumptions []deploy.Link `json:"assumptions,omitempty"`
	Runbooks    []Runbook     `json:"runbooks,omitempty"`
	Interrupted bool          `json:"interrupted,omitempty"`
	// Failure is the harness's first own failure in any trial.
	Failure string        `json:"failure,omitempty"`
	Trials  int           `json:"trials"`
	Elapsed time.Duration `json:"elapsed"` // nanoseconds
}

// Settle sets the overall verdict from those of the parts. An interrupted
// answer is never safe.
func (a *Answer) Settle() {
	a.Verdict = Safe
	if a.Interrupted || len(a.Rows)+len(a.Takeovers) == 0 {
		a.Verdict = Inconclusive
	}
	for _, r := range a.Rows {
		a.Verdict = worse(a.Verdict, r.Verdict)
	}
	for _, t := range a.Takeovers {
		a.Verdict = worse(a.Verdict, t.Verdict)
	}
	for _, h := range a.Hazards {
		a.Verdict = worse(a.Verdict, h.Verdict)
	}
}

func worse(a, b Verdict) Verdict {
	for _, v := range []Verdict{Unsafe, Inconclusive} {
		if a == v || b == v {
			return v
		}
	}
	return Safe
}
