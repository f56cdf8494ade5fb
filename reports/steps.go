package reports

import (
	"cmp"
	"fmt"
	"strings"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

// StepText describes a step of a script.
func StepText(s scenarios.Step) string {
	text := strings.TrimSpace(action(s) + secondaryText(s))
	if s.Must != "" {
		text += "; it must " + map[string]string{"ok": "succeed", "fail": "fail"}[s.Must]
	}
	return text
}

// clientVerbs describe client operations, for one client and for several.
var clientVerbs = map[scenarios.Verb]struct{ one, several string }{
	scenarios.VerbAcquire: {"acquires", "acquire"},
	scenarios.VerbExtend:  {"extends its lease", "extend their leases"},
	scenarios.VerbRelease: {"releases the lock", "release the lock"},
	scenarios.VerbCheck:   {"checks whether its lease is still valid", "check whether their leases are still valid"},
	scenarios.VerbRead:    {"reads the protected data", "read the protected data"},
	scenarios.VerbWrite:   {"writes the protected data", "write the protected data"},
	scenarios.VerbWatch:   {"keeps its lease extended from here on", "keep their leases extended from here on"},
	scenarios.VerbCancel:  {"cancels what it is doing", "cancel what they are doing"},
}

// scriptVerbs describe the script's own actions.
var scriptVerbs = map[scenarios.Verb]string{
	scenarios.VerbAwaitExpiry:    "wait until all expiring keys of %s have expired",
	scenarios.VerbAwaitSync:      "wait until %s has every write of its master",
	scenarios.VerbAwaitPromotion: "wait until Sentinel has made %s the master",
	scenarios.VerbAwait:          "wait for the outcome of %s",
}

func action(s scenarios.Step) string {
	targets := list(s.Targets)
	if verb, ok := clientVerbs[s.Verb]; ok {
		verbText := verb.one
		if len(s.Targets) > 1 {
			verbText = verb.several
		}
		switch {
		case s.Key != "" && s.Verb == scenarios.VerbAcquire:
			verbText += " " + s.Key
		case s.Key != "":
			verbText += " of " + s.Key
		}
		if s.Thread != "" {
			targets += " (thread " + s.Thread + ")"
		}
		return targets + " " + verbText
	}
	if text, ok := scriptVerbs[s.Verb]; ok {
		return fmt.Sprintf(text, targets)
	}
	switch s.Verb {
	case scenarios.VerbWait:
		return "wait " + s.Wait.String()
	case scenarios.VerbUntil:
		return untilText(s)
	}
	if text, known := nemesis.InstructionText(string(s.Verb), instructionOf(s)); known {
		return text
	}
	return string(s.Verb) + ": " + targets
}

// instructionOf formats a step's quantities.
func instructionOf(s scenarios.Step) nemesis.Instruction {
	o := nemesis.Instruction{Targets: list(s.Targets), Direction: s.Direction, Rate: s.Rate, Command: s.Of, Part: s.Part,
		Count: s.Times}
	if !s.By.IsZero() {
		o.Delay = s.By.String()
	}
	jump := s.Jump
	if o.Backward = jump.TTLs < 0 || jump.Fixed < 0 && jump.TTLs == 0; o.Backward {
		jump = scenarios.Span{TTLs: -jump.TTLs, Fixed: -jump.Fixed}
	}
	if !jump.IsZero() {
		o.Jump = jump.String()
	}
	return o
}

func untilText(s scenarios.Step) string {
	var clients []string // in the order of the step
	nodes := map[string][]string{}
	for _, target := range s.Targets {
		link, _ := history.LinkOf(target)
		if nodes[link.From] == nil {
			clients = append(clients, link.From)
		}
		nodes[link.From] = append(nodes[link.From], link.To)
	}
	parts := make([]string, len(clients))
	for i, client := range clients {
		have := "has"
		if len(nodes[client]) > 1 {
			have = "have"
		}
		parts[i] = fmt.Sprintf("%s %s %s %s's %s", list(nodes[client]), have, cmp.Or(s.Has, "received"), client,
			nemesis.CommandText(s.Of))
	}
	return "wait until " + list(parts)
}

func secondaryText(s scenarios.Step) (text string) {
	for _, m := range []struct {
		there bool
		text  string
	}{
		{len(s.Reaching) > 0, ", from here on reaching only " + list(s.Reaching)},
		{!s.For.IsZero(), " for " + s.For.String()},
		{!s.After.IsZero(), ", and start again after " + s.After.String()},
		{!s.Within.IsZero(), ", within " + s.Within.String()},
		{s.Async, ", in the background"},
		{s.IfHeld, ", if it holds the lock"},
		{s.IfSupported, ", if the lock can"},
		{s.EachMessage, " at a message of its next operation, each in turn"},
	} {
		if m.there {
			text += m.text
		}
	}
	return text
}

// RandomText describes one kind of fault of a seeded schedule.
func RandomText(r scenarios.Random) string {
	step, from := r.Step, list(r.Targets)
	step.Targets = []string{"some of " + from}
	if r.Count > 0 && r.Count < len(r.Targets) {
		step.Targets = []string{fmt.Sprintf("%d of %s", r.Count, from)}
	}
	text := fmt.Sprintf("every %s: %s", rangeText(r.Every), action(step))
	if !r.Lasts.Min.IsZero() || !r.Lasts.Max.IsZero() {
		text += " for " + rangeText(r.Lasts)
	}
	return text
}

func rangeText(r scenarios.Range) string {
	if r.Min == r.Max {
		return r.Min.String()
	}
	return r.Min.String() + " to " + r.Max.String()
}
