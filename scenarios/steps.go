package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/suggest"
	"example.org/lockproof/nemesis"
)

func (d *decoder) script(n ast.Node, what string) []Step {
	var steps []Step
	for _, element := range d.elements(n, what, "a list of steps, for example `- acquire: c1`") {
		if step, ok := d.step(element); ok {
			steps = append(steps, step)
		}
	}
	d.checkThreadOrder(steps)
	return steps
}

// step reads one step: a mapping of one verb to its targets, with modifiers.
func (d *decoder) step(n ast.Node) (Step, bool) {
	if text, ok := n.(*ast.StringNode); ok {
		if u, ok := usage(Verb(text.Value)); ok {
			d.report(position(n), text.Value+" has no target",
				fmt.Sprintf("add one, for example `- %s: %s`", u.Verb, example(u.Targets)))
			return Step{}, false
		}
	}
	entries := d.entries(n, "a step", "a verb with its targets, for example `- acquire: c1`")
	verb, ok := d.findVerb(n, entries)
	if !ok {
		return Step{}, false
	}
	step := Step{Verb: Verb(verb.key), Line: verb.at.Line, Column: verb.at.Column}
	u, _ := usage(step.Verb)
	if u.Targets == Time {
		step.Wait = positive.span(d, verb.value, verb.key)
	} else {
		step.Targets = d.targets(verb.value, verb.key, u.Targets)
	}
	d.readModifiers(&step, u, entries, verb.at)
	return step, true
}

// findVerb finds a step's only verb, or reports that it has none or several.
func (d *decoder) findVerb(n ast.Node, entries []entry) (entry, bool) {
	var verbs []entry
	for _, e := range entries {
		if _, ok := usage(Verb(e.key)); ok {
			verbs = append(verbs, e)
		}
	}
	switch {
	case len(verbs) == 1:
		return verbs[0], true
	case len(verbs) > 1:
		d.report(verbs[1].at, fmt.Sprintf("the step has two verbs, %s and %s", verbs[0].key, verbs[1].key),
			fmt.Sprintf("give each a step of its own: begin this one with a hyphen, `- %s:`", verbs[1].key))
	case len(entries) > 0 && d.modifiers(&Step{})[entries[0].key] != nil:
		d.report(entries[0].at, "the step has no verb", "the verbs are "+strings.Join(verbNames(), ", "))
	case len(entries) > 0:
		d.report(entries[0].at, fmt.Sprintf("unknown verb %q", entries[0].key),
			suggest.Instead(entries[0].key, verbNames(), "the verbs are"))
	case n.Type() == ast.MappingType:
		d.report(position(n), "the step is empty", "the verbs are "+strings.Join(verbNames(), ", "))
	}
	return entry{}, false
}

// readModifiers reads the modifiers of a step and checks them against the verb's usage.
func (d *decoder) readModifiers(step *Step, u Usage, entries []entry, at *token.Position) {
	verb, allowed := string(step.Verb), u.modifiers()
	places, readers := map[string]*token.Position{}, d.modifiers(step)
	for _, e := range entries {
		if e.key == verb {
			continue
		}
		if !slices.Contains(allowed, e.key) {
			d.report(e.at, fmt.Sprintf("%s does not accept %q", verb, e.key), d.suggestModifier(e.key, u.Targets, allowed))
			continue
		}
		places[e.key] = e.at
		readers[e.key](d, e.value, e.key)
	}
	d.checkRequired(verb, u.Required, at, places)
	d.checkComplete(step, u, at, places)
}

// checkRequired reports missing modifiers of a step or a random fault.
func (d *decoder) checkRequired(of string, required []string, at *token.Position, places map[string]*token.Position) {
	for _, need := range required {
		if places[need] == nil {
			d.report(at, fmt.Sprintf("%s has no %q", of, need), fmt.Sprintf("add it, for example `%s`", examples[need]))
		}
	}
}

// suggestModifier suggests a verb's modifiers in place of an unknown one.
func (d *decoder) suggestModifier(key string, targets nemesis.Targets, allowed []string) string {
	if len(allowed) == 0 {
		return "it accepts " + acceptsText(targets) + " only"
	}
	return suggest.Instead(key, allowed, "it accepts")
}

// examples are examples of the required modifiers.
var examples = map[string]string{"of": "of: SET", "part": "part: reply", "by": "by: 20ms", "for": "for: 1 ttl",
	"to": "to: n1"}

// checkComplete sets the defaults and checks combinations of modifiers.
func (d *decoder) checkComplete(step *Step, u Usage, at *token.Position, places map[string]*token.Position) {
	allowed := u.modifiers()
	if slices.Contains(allowed, "key") && step.Key == "" {
		step.Key = DefaultKey
	}
	if slices.Contains(allowed, "has") && step.Has == "" {
		step.Has = "answered"
	}
	if slices.Contains(allowed, "times") {
		step.Times = max(step.Times, 1)
	}
	if slices.Contains(allowed, "direction") && step.Direction == "" {
		step.Direction = history.Both
	}
	use := nemesis.Use{Delay: step.By.In(d.s.TTL)}
	for _, target := range step.Targets {
		if of, _ := d.kindOf(target); of.kind&(nemesis.Clients|nemesis.Loops) != 0 {
			use.Clients = append(use.Clients, target)
		}
	}
	d.checkUse(string(step.Verb), use, at, places)
}

// checkUse checks the use of a fault by its declaration.
func (d *decoder) checkUse(fault string, use nemesis.Use, at *token.Position, places map[string]*token.Position) {
	declared := nemesis.Find(fault)
	if declared == nil || declared.Check == nil {
		return
	}
	use.Modifiers = map[string]bool{}
	for modifier := range places {
		use.Modifiers[modifier] = true
	}
	for _, m := range declared.Check(use) {
		place := at
		if places[m.Modifier] != nil {
			place = places[m.Modifier]
		}
		d.report(place, m.Problem, m.Want)
	}
}
