package validate

import (
	"time"

	"example.org/lockproof/validate/deploy"
	"example.org/lockproof/validate/settings"
)

// Verdict is what is said of settings.
type Verdict string

// The verdicts. Inconclusive is never folded into safe.
const (
	Safe         Verdict = "safe"
	Unsafe       Verdict = "unsafe"
	Inconclusive Verdict = "inconclusive"
)

// Row is what came of one crash kind with locks of one TTL.
type Row struct {
	Point
	Return  deploy.Return `json:"return"`
	Verdict Verdict       `json:"verdict"`
	Reason  string        `json:"reason"` // one sentence
	// Link is the link of the chain that keeps it from being judged.
	Link *deploy.Link `json:"link,omitempty"`
	// Condition is what a safe verdict rests on besides the chain.
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

// Answer is all that was found out.
type Answer struct {
	Question  Question       `json:"-"`
	Verdict   Verdict        `json:"verdict"`
	Rows      []Row          `json:"rows"`
	Server    *deploy.Server `json:"server"`
	Takeovers []TakeoverRow  `json:"takeovers,omitempty"`
	Hazards   []Hazard       `json:"hazards,omitempty"`
	// Assumptions are what each safe rests on.
	Assumptions []deploy.Link `json:"assumptions,omitempty"`
	Runbooks    []Runbook     `json:"runbooks,omitempty"`
	Interrupted bool          `json:"interrupted,omitempty"`
	// Failure is how the harness itself first failed, in any trial.
	Failure string        `json:"failure,omitempty"`
	Trials  int           `json:"trials"`
	Elapsed time.Duration `json:"elapsed"` // nanoseconds
}

// Settle gives the whole answer's verdict from those of its parts. What was cut
// short, wherever it was, is not safe.
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
