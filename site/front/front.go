package front

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/lab"
	"example.org/lockproof/reports"
	"example.org/lockproof/scenarios"
)

//go:embed scenarios/*.yaml
var files embed.FS

// Tab is one kind of failure with a play for each value of its quantity.
type Tab struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Quantity string `json:"quantity"` // the reader's setting, in TTLs
	Lesson   string `json:"lesson"`
	Lab      string `json:"lab"`   // the most similar scenario of the lab
	Start    int    `json:"start"` // index of the first play shown
	Least    int    `json:"-"`     // least quantity, in tenths of a TTL
	Plays    []Play `json:"plays"`
}

// Play is the run with one value.
type Play struct {
	Value float64 `json:"value"`
	Lost  bool    `json:"lost"` // a payment was overwritten
	Beats []Beat  `json:"beats"`
	Lanes []Lane  `json:"lanes"`
	End   int64   `json:"end"` // in microseconds, like all times
}

// Beat is a moment of a play with one sentence.
type Beat struct {
	At       int64     `json:"at"`
	Text     string    `json:"text"`
	Messages []Message `json:"messages,omitempty"`
	Bad      bool      `json:"bad,omitempty"` // a payment is lost here
}

// Message goes from one process to another.
type Message struct {
	From string `json:"from"`
	To   string `json:"to"`
	Kind string `json:"kind"` // ask, yes, no, read, write, lost
}

// Lane is the states of a client, a server or the store.
type Lane struct {
	Name      string    `json:"name"`
	Stretches []Stretch `json:"stretches"`
}

// Stretch is one state for an interval; later stretches cover earlier ones.
type Stretch struct {
	From  int64  `json:"from"`
	Until int64  `json:"until"`
	State string `json:"state"` // asking, holding, asleep, down, c1, c2
}

// most is the largest value of a quantity, in tenths of a TTL.
const most = 20

// set changes a step's quantity, in tenths of a TTL.
type set func(step *scenarios.Step, tenths int)

func span(tenths int) scenarios.Span { return scenarios.Span{TTLs: float64(tenths) / 10} }

var tabs = []struct {
	Tab
	verb scenarios.Verb
	set  set
}{
	{Tab{ID: "pause", Name: "A client sleeps", Quantity: "c1 sleeps for", Lab: "client-pause", Start: 15}, "pause",
		func(s *scenarios.Step, n int) { s.For = span(n) }},
	{Tab{ID: "restart", Name: "A server forgets", Quantity: "n3 is back after", Lab: "restart-delay-too-short", Start: 3,
		Least: 1}, "kill", func(s *scenarios.Step, n int) { s.After = span(n) }},
	{Tab{ID: "clock", Name: "A clock jumps", Quantity: "n3’s clock jumps by", Lab: "clock-jump-forward", Start: 6},
		"clock", func(s *scenarios.Step, n int) { s.Jump = span(n) }},
}

// Tabs runs all plays.
func Tabs(ctx context.Context, run suite.Runner) ([]Tab, error) {
	var all []Tab
	for _, definition := range tabs {
		tab := definition.Tab
		for tenths := tab.Least; tenths <= most; tenths++ {
			s, err := read(definition.ID)
			if err != nil {
				return nil, err
			}
			tab.Lesson = strings.TrimSpace(s.Lesson)
			if tenths == 0 {
				s.Script = without(s.Script, definition.verb)
			}
			for i := range s.Script {
				if s.Script[i].Verb == definition.verb {
					definition.set(&s.Script[i], tenths)
				}
			}
			p, err := play(ctx, run, s)
			if err != nil {
				return nil, fmt.Errorf("%s of %d tenths of a TTL: %w", definition.ID, tenths, err)
			}
			p.Value = float64(tenths) / 10
			tab.Plays = append(tab.Plays, p)
		}
		all = append(all, tab)
	}
	return all, nil
}

// read parses a play's scenario; each caller modifies its own copy.
func read(name string) (*scenarios.Scenario, error) {
	name = "scenarios/" + name + ".yaml"
	text, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return scenarios.Parse(name, text)
}

func without(script []scenarios.Step, verb scenarios.Verb) []scenarios.Step {
	var rest []scenarios.Step
	for _, s := range script {
		if s.Verb != verb {
			rest = append(rest, s)
		}
	}
	return rest
}

func play(ctx context.Context, run suite.Runner, s *scenarios.Scenario) (Play, error) {
	trial, err := lab.One(ctx, run, suite.Job{Scenario: s, AllowBetter: true}, 1, true)
	if err != nil {
		return Play{}, err
	}
	h, err := reports.NewHistory(trial.Events)
	if err != nil {
		return Play{}, err
	}
	p := playOf(h)
	for _, r := range trial.Results {
		p.Lost = p.Lost || r.Property == checker.ProtectedData && r.Verdict == history.Violated
	}
	return p, nil
}
