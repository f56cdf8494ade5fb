package reports

import (
	"fmt"
	"maps"
	"slices"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
)

// Band is one fault from its beginning to its end. A fault without a duration ends when it begins.
type Band struct {
	From, Until int64
	Kind        string
	Targets     []string
	Text        string

	id int
}

// Faults of beginsState's classes begin a state of their targets; faults of endsState's classes end one.
var (
	beginsState = map[history.Class]State{history.NodeDown: Down, history.ClientKilled: Down,
		history.NodePaused: Paused, history.ClientPaused: Paused}
	endsState = map[history.Class]State{history.NodeUp: Down, history.Resumed: Paused}
)

// drawFault draws the beginning or the end of a fault, as a band and as states of its targets.
func (t *storyBuilder) drawFault(e history.Event) {
	f, ends := e.Fault, e.Fault.Phase == history.PhaseEnd
	for _, target := range f.Targets {
		if state, known := beginsState[f.Class]; known {
			t.set(openState{lane: target, state: state}, !ends, e.Time)
		} else if state, known := endsState[f.Class]; known && !ends {
			t.set(openState{lane: target, state: state}, false, e.Time)
		}
	}
	switch {
	case f.Background && !ends:
		t.background = append(t.background, *f)
	case f.Background:
	case ends:
		for i := range t.Faults {
			if t.Faults[i].id == f.ID {
				t.Faults[i].Until = e.Time
			}
		}
	default:
		b := Band{From: e.Time, Until: e.Time, Kind: f.Kind, Targets: slices.Clone(f.Targets), id: f.ID}
		if f.Phase == history.PhaseBegin {
			b.Until = max(t.Until, e.Time)
		}
		t.Faults = append(t.Faults, b)
	}
}

// joinBands merges faults that differ only in their targets.
func (t *storyBuilder) joinBands() {
	var all []Band
	for _, b := range t.Faults {
		if n := len(all); n > 0 && all[n-1].Kind == b.Kind && all[n-1].From == b.From && all[n-1].Until == b.Until {
			all[n-1].Targets = append(all[n-1].Targets, b.Targets...)
		} else {
			all = append(all, b)
		}
		last := &all[len(all)-1]
		last.Text = last.Kind + " " + list(last.Targets)
	}
	t.Faults = all
}

// settings describes the links that are cut or slow from the start.
func settings(background []history.Fault, header history.Header) (texts []string) {
	type group struct {
		client string
		fault  history.Fault
		nodes  []string
	}
	var groups []group
	for _, f := range background {
		for _, target := range f.Targets {
			link, _ := history.LinkOf(target)
			i := slices.IndexFunc(groups, func(g group) bool {
				return g.client == link.From && sameFault(g.fault) == sameFault(f)
			})
			if i < 0 {
				i = len(groups)
				groups = append(groups, group{client: link.From, fault: f})
			}
			groups[i].nodes = append(groups[i].nodes, link.To)
		}
	}
	for _, g := range groups {
		texts = append(texts, nemesis.BackgroundText(g.client, g.nodes, g.fault))
	}
	if header.BeliefText != "" {
		texts = append(texts, "clients believe in a lease "+header.BeliefText)
	}
	return texts
}

// sameFault is equal for faults that one sentence can describe.
func sameFault(f history.Fault) string {
	return fmt.Sprint(f.Kind, f.Phase, f.Effective, f.Asked)
}

func faultText(f history.Fault, targets []string) string {
	f.Targets = targets
	if f.Phase == history.PhaseEnd {
		return nemesis.EndText(f)
	}
	text := nemesis.BeginText(f)
	if !f.Effective {
		text += ", but it did not take effect"
	}
	return text
}

// restartText describes the restart of a node that lost the story's key.
func restartText(f history.Fault, lost string) string {
	if keys := f.Measured["keys"]; keys == "" || keys == "0" {
		return faultText(f, f.Targets) + lost
	}
	f.Measured = maps.Clone(f.Measured)
	delete(f.Measured, "keys")
	return faultText(f, f.Targets) + ", remembering other keys" + lost
}
