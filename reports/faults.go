package reports

import (
	"fmt"
	"maps"
	"slices"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
)

// Band is one fault from its beginning to its end; a fault without duration
// ends where it begins.
type Band struct {
	From, Until int64
	Kind        string
	Targets     []string
	Text        string
}

// bands are the faults of a history that are not part of its setting, joined
// where several began at once that differ only in their targets.
func bands(events []history.Event, end int64) []Band {
	var all []Band
	ends := map[int]int64{}
	for _, e := range events {
		if e.Type == history.TypeFault && e.Fault != nil && e.Fault.Phase == history.PhaseEnd {
			ends[e.Fault.ID] = e.Time
		}
	}
	for _, e := range events {
		if e.Type != history.TypeFault || e.Fault == nil || e.Fault.Background || e.Fault.Phase == history.PhaseEnd {
			continue
		}
		b := Band{From: e.Time, Until: e.Time, Kind: e.Fault.Kind, Targets: slices.Clone(e.Fault.Targets)}
		if e.Fault.Phase == history.PhaseBegin {
			b.Until = max(end, e.Time)
			if until, ended := ends[e.Fault.ID]; ended {
				b.Until = until
			}
		}
		if n := len(all); n > 0 && all[n-1].Kind == b.Kind && all[n-1].From == b.From && all[n-1].Until == b.Until {
			all[n-1].Targets = append(all[n-1].Targets, b.Targets...)
			continue
		}
		all = append(all, b)
	}
	for i := range all {
		all[i].Text = all[i].Kind + " " + list(all[i].Targets)
	}
	return all
}

// settings say who reaches whom and who is far away, as the scenario begins.
func settings(events []history.Event, header history.Header) []string {
	type group struct {
		client string
		fault  history.Fault
		nodes  []string
	}
	var groups []*group
	known := map[string]*group{}
	for _, e := range events {
		if e.Type != history.TypeFault || e.Fault == nil || !e.Fault.Background || e.Fault.Phase == history.PhaseEnd {
			continue
		}
		for _, target := range e.Fault.Targets {
			link, _ := history.LinkOf(target)
			id := link.From + " " + sameFault(*e.Fault)
			if known[id] == nil {
				known[id] = &group{client: link.From, fault: *e.Fault}
				groups = append(groups, known[id])
			}
			known[id].nodes = append(known[id].nodes, link.To)
		}
	}
	var texts []string
	for _, g := range groups {
		texts = append(texts, nemesis.BackgroundText(g.client, g.nodes, g.fault))
	}
	if header.BeliefText != "" {
		texts = append(texts, "clients believe in a lease "+header.BeliefText)
	}
	return texts
}

// sameFault is what faults have in common that are told in one sentence.
func sameFault(f history.Fault) string {
	return fmt.Sprint(f.Kind, f.Phase, f.Effective, f.Asked)
}

// faultText says what a fault did to its targets.
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

// forgetfulText tells that a node is started again without the key that the story is about.
func forgetfulText(f history.Fault, lost string) string {
	if keys := f.Measured["keys"]; keys == "" || keys == "0" {
		return faultText(f, f.Targets) + lost
	}
	f.Measured = maps.Clone(f.Measured)
	delete(f.Measured, "keys")
	return faultText(f, f.Targets) + ", remembering other keys" + lost
}
