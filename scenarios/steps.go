package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"lockproof/harness/cluster"
)

// script reads a list of steps.
func (d *decoder) script(n ast.Node) []Step {
	list, ok := n.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		d.mismatch(n, "script", "a list of steps, as in `- acquire: c1`")
		return nil
	}
	var steps []Step
	for _, element := range list.Values {
		if step, ok := d.step(element); ok {
			steps = append(steps, step)
		}
	}
	d.checkOrder(steps)
	return steps
}

// step reads one step: a mapping of one verb to its targets, with modifiers.
func (d *decoder) step(n ast.Node) (Step, bool) {
	if text, ok := n.(*ast.StringNode); ok {
		if u, ok := usages[Verb(text.Value)]; ok {
			d.report(position(n), text.Value+" has no target", fmt.Sprintf("say at what it is aimed, as in `- %s: %s`", u.Verb, example(u.Targets)))
			return Step{}, false
		}
	}
	entries := d.entries(n, "a step", "a verb with its targets, as in `- acquire: c1`")
	verb, ok := d.verb(n, entries)
	if !ok {
		return Step{}, false
	}
	step := Step{Verb: Verb(verb.key), Line: verb.at.Line, Column: verb.at.Column}
	usage := usages[step.Verb]
	if usage.Targets == Time {
		step.Wait = d.span(verb.value, verb.key, positive)
	} else {
		step.Targets = d.targets(verb.value, verb.key, usage.Targets)
	}
	d.modify(&step, usage, entries, verb.at)
	return step, true
}

// verb finds the one verb among a step's keys.
func (d *decoder) verb(n ast.Node, entries []entry) (entry, bool) {
	var verbs []entry
	for _, e := range entries {
		if _, ok := usages[Verb(e.key)]; ok {
			verbs = append(verbs, e)
		}
	}
	switch {
	case len(verbs) == 1:
		return verbs[0], true
	case len(verbs) > 1:
		d.report(verbs[1].at, fmt.Sprintf("the step has two verbs, %s and %s", verbs[0].key, verbs[1].key),
			fmt.Sprintf("give each a step of its own: begin this one with a hyphen, `- %s:`", verbs[1].key))
	case len(entries) > 0 && readers[entries[0].key] != nil:
		d.report(entries[0].at, "the step has no verb", "the verbs are "+strings.Join(verbNames, ", "))
	case len(entries) > 0:
		d.report(entries[0].at, fmt.Sprintf("there is no verb %q", entries[0].key), suggest(entries[0].key, verbNames, "the verbs are"))
	case n.Type() == ast.MappingType:
		d.report(position(n), "the step is empty", "the verbs are "+strings.Join(verbNames, ", "))
	}
	return entry{}, false
}

// modify reads the modifiers of a step and holds them to the verb's usage.
func (d *decoder) modify(step *Step, usage Usage, entries []entry, at *token.Position) {
	allowed := usage.modifiers()
	places := map[string]*token.Position{}
	for _, e := range entries {
		if e.key == string(step.Verb) {
			continue
		}
		if !slices.Contains(allowed, e.key) {
			d.report(e.at, fmt.Sprintf("%s takes no %q", step.Verb, e.key), d.instead(e.key, usage.Targets, allowed))
			continue
		}
		places[e.key] = e.at
		readers[e.key](d, e.value, step)
	}
	for _, need := range usage.Required {
		if places[need] == nil {
			d.report(at, fmt.Sprintf("%s has no %q", step.Verb, need), fmt.Sprintf("add it, as in `%s`", examples[need]))
		}
	}
	d.complete(step, at, places)
}

// instead says which modifiers a verb has in place of one that it has not.
func (d *decoder) instead(key string, targets Targets, allowed []string) string {
	if len(allowed) == 0 {
		return "it takes " + targets.String() + " and nothing more"
	}
	return suggest(key, allowed, "it takes")
}

// examples show modifiers that some verbs need.
var examples = map[string]string{"of": "of: SET", "part": "part: reply", "by": "by: 20ms", "for": "for: 1 ttl"}

// complete checks what no single modifier shows, and fills in defaults.
func (d *decoder) complete(step *Step, at *token.Position, places map[string]*token.Position) {
	switch step.Verb {
	case VerbAcquire, VerbRead, VerbWrite:
		if step.Key == "" {
			step.Key = DefaultKey
		}
	case VerbUntil:
		if step.Has == "" {
			step.Has = "answered"
		}
	case VerbHold, VerbLose, VerbDrop:
		step.Times = max(step.Times, 1)
	case VerbCut, VerbDelay:
		if step.Direction == "" {
			step.Direction = cluster.Both
		}
	case VerbSlowFsync:
		if place := places["by"]; place != nil && step.By.IsZero() {
			d.report(place, "an fsync that is slow by 0 is not slow", "say by how much, as in `by: 5s`")
		}
	case VerbClock:
		if places["jump"] == nil && places["rate"] == nil {
			d.report(at, "clock has neither jump nor rate", "say how it goes wrong: `jump: -1 ttl` or `rate: 0.8`")
		}
	case VerbKill:
		d.checkKill(step, places["after"])
	}
}

// checkKill holds back the restart of a client: the dead do not come back.
func (d *decoder) checkKill(step *Step, after *token.Position) {
	for _, target := range step.Targets {
		if kind, _ := d.kindOf(target); kind != Nodes && after != nil {
			d.report(after, fmt.Sprintf("%s is a client, which stays dead", target), "only nodes are started again `after` a kill")
		}
	}
}
