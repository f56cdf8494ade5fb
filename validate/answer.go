package validate

import (
	"time"

	"lockproof/validate/settings"
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
	Return  settings.Return `json:"return"`
	Verdict Verdict         `json:"verdict"`
	Reason  string          `json:"reason"` // one sentence
	// Doubts are the remarks that keep it from being safe.
	Doubts []settings.Remark `json:"doubts,omitempty"`
	Tally  Tally             `json:"trials"`
}

// Hazard is a way to lose a lock besides a crash of a node.
type Hazard struct {
	Name    string         `json:"name"`
	Verdict Verdict        `json:"verdict"`
	Reason  string         `json:"reason"`
	Place   settings.Place `json:"place"`
	Tally   Tally          `json:"trials"`
}

// Gap is how long nobody could get the lock after a majority of the nodes went
// down in the same way at once.
type Gap struct {
	Crash   settings.Crash `json:"crash"`
	TTL     time.Duration  `json:"ttl"`
	Longest time.Duration  `json:"longest"` // nanoseconds
}

// Answer is all that was found out.
type Answer struct {
	Question    Question             `json:"-"`
	Verdict     Verdict              `json:"verdict"`
	Rows        []Row                `json:"rows"`
	Service     *settings.Service    `json:"service,omitempty"`
	Takeovers   []TakeoverRow        `json:"takeovers,omitempty"`
	Hazards     []Hazard             `json:"hazards,omitempty"`
	Gaps        []Gap                `json:"gaps,omitempty"`
	Unknown     []settings.Directive `json:"unknown,omitempty"`
	Remarks     []settings.Remark    `json:"remarks,omitempty"`
	Throughput  *Throughput          `json:"throughput,omitempty"`
	Frontier    *Frontier            `json:"frontier,omitempty"`
	Delays      []Found              `json:"delays,omitempty"`
	Drifts      []Limit              `json:"drifts,omitempty"`
	Pauses      []Limit              `json:"pauses,omitempty"`
	Advice      []Advice             `json:"advice,omitempty"`
	Interrupted bool                 `json:"interrupted,omitempty"`
	// Failure is how the harness itself first failed, in any trial.
	Failure string `json:"failure,omitempty"`
	// Skipped says what was not measured and why.
	Skipped []string      `json:"skipped,omitempty"`
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
