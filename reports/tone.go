package reports

import (
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports/terminal"
)

// Tone is what a colour says, the same in every report: green holds, yellow is an expected limit or undecided, red is a
// bug.
type Tone string

// The tones; "" is none, of a row that does not concern the lock.
const (
	Good  Tone = "good"
	Doubt Tone = "doubt"
	Bad   Tone = "bad"
)

var tones = map[suite.Answer]Tone{suite.Bug: Bad, suite.Failed: Bad, suite.Limit: Doubt, suite.Undecided: Doubt,
	suite.Holds: Good}

// StandingTone is the tone of a trial's or a row's standing.
func StandingTone(o suite.Standing) Tone { return tones[o.Answer()] }

// VerdictTone is the tone of a verdict on one property; bug says that a violation is one.
func VerdictTone(verdict string, bug bool) Tone {
	switch {
	case verdict == history.Holds:
		return Good
	case verdict == history.Violated && bug:
		return Bad
	}
	return Doubt
}

// style is the tone on a terminal.
func (t Tone) style() terminal.Style {
	return map[Tone]terminal.Style{Good: terminal.Green, Doubt: terminal.Yellow, Bad: terminal.Red, "": terminal.Faint}[t]
}
