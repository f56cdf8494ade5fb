package nemesis

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/wording"
)

// Words describe a fault for readers.
type Words struct {
	Noun        string                     // it precedes the targets: "power loss of"; "": the kind, and "of"
	Instruction func(Instruction) string   // a step: "kill n1 (SIGKILL)"
	Begin       func(history.Fault) string // its begin or instant: "n1 is killed (SIGKILL)"
	End         func(history.Fault) string // its end, if it has one: "n1 resumes"
	Past        string                     // of one target: "was killed"
	// Background describes a background fault on one client's links to nodes: "c1 cannot reach n2".
	Background func(client, nodes string, f history.Fault) string
}

// Instruction has a requested fault's values, in words.
type Instruction struct {
	Targets   string            // its targets
	Direction history.Direction // "": both, or none
	Delay     string            // "": none
	Jump      string            // without its sign; "": none
	Backward  bool              // the jump's direction
	Rate      float64           // 0: unchanged
	Command   string
	Part      history.Part
	Count     int
}

// InstructionText describes a requested fault; known reports whether the kind exists.
func InstructionText(kind string, o Instruction) (text string, known bool) {
	d := Find(kind)
	if d == nil {
		return "", false
	}
	return d.Words.Instruction(o) + directionText(o.Direction), true
}

// NounText names a fault on its targets: "the power loss of n1".
func (d *Declaration) NounText(targets []string) string {
	return "the " + cmp.Or(d.Words.Noun, d.Kind+" of") + " " + wording.List(targets)
}

// BeginText describes a fault's begin.
func BeginText(f history.Fault) string {
	if d := Find(f.Kind); d != nil {
		return d.Words.Begin(f) + directionText(f.Asked.Direction)
	}
	var measured []string
	for name, value := range f.Measured {
		measured = append(measured, name+" "+value)
	}
	slices.Sort(measured)
	return strings.TrimSpace(f.Kind+" "+targetList(f)) + wording.Prefix(": ", strings.Join(measured, ", "))
}

// EndText describes a fault's end.
func EndText(f history.Fault) string {
	if d := Find(f.Kind); d != nil && d.Words.End != nil {
		return d.Words.End(f)
	}
	return f.Kind + " of " + targetList(f) + " ends"
}

// BackgroundText describes a background fault on the links from a client to nodes.
func BackgroundText(client string, nodes []string, f history.Fault) string {
	if d := Find(f.Kind); d != nil && d.Words.Background != nil {
		return d.Words.Background(client, wording.List(nodes), f) + directionText(f.Asked.Direction)
	}
	return fmt.Sprintf("%s: %s of %s", client, f.Kind, wording.List(nodes)) +
		directionText(f.Asked.Direction)
}

// directionText describes a fault's direction, if it is one-way.
func directionText(d history.Direction) string {
	switch d {
	case history.ToNode:
		return ", towards the node only"
	case history.ToClient:
		return ", towards the client only"
	}
	return ""
}

// instructionFor inserts the targets into a sentence.
func instructionFor(sentence string) func(Instruction) string {
	return func(o Instruction) string { return fmt.Sprintf(sentence, o.Targets) }
}

// passiveText makes a passive sentence: "n1 and n2 are killed".
func passiveText(done string) func(history.Fault) string {
	return func(f history.Fault) string { return targetList(f) + " " + isOrAre(f) + " " + done }
}

// targetText inserts a fault's targets into a sentence.
func targetText(sentence string) func(history.Fault) string {
	return func(f history.Fault) string { return fmt.Sprintf(sentence, targetList(f)) }
}

func targetList(f history.Fault) string { return wording.List(f.Targets) }

func isOrAre(f history.Fault) string {
	if len(f.Targets) > 1 {
		return "are"
	}
	return "is"
}

func verbEnding(f history.Fault) string {
	if len(f.Targets) == 1 {
		return "s"
	}
	return ""
}

// linkList names a fault's targets as links.
func linkList(f history.Fault) string {
	if len(f.Targets) == 1 {
		return "the link " + f.Targets[0]
	}
	return "the links " + targetList(f)
}

// readable formats a duration for readers; "" for 0.
func readable(d history.Duration) string {
	if d == 0 {
		return ""
	}
	return wording.Readable(d.String())
}

// keysText describes whether a node has keys, by their number.
func keysText(n string) string {
	switch n {
	case "":
		return ""
	case "0":
		return ", remembering no key"
	}
	return ", remembering keys"
}

// nextMessages counts messages: "next SET", "next 2 SET", "next 2 commands to take a key".
func nextMessages(of string, n int) string {
	if n <= 1 {
		return "next " + CommandText(of)
	}
	return "next " + strconv.Itoa(n) + " " + strings.Replace(CommandText(of), "command ", "commands ", 1)
}

// CommandText names a step's commands, by their name or their effect.
func CommandText(of string) string {
	switch of {
	case history.Take, history.Extend, history.Release:
		return "command to " + of + " a key"
	}
	return of
}

func interceptInstruction(verb string) func(Instruction) string {
	return func(o Instruction) string {
		next := nextMessages(o.Command, o.Count)
		if o.Part == history.PartReply {
			next = "reply to the " + next
		}
		return fmt.Sprintf("%s the %s on %s", verb, next, o.Targets)
	}
}

func interceptBegin(done string) func(history.Fault) string {
	return func(f history.Fault) string {
		next := "the " + nextMessages(f.Asked.Command, f.Asked.Times)
		if f.Asked.Part == history.PartReply {
			next = "the reply to " + next
		}
		return fmt.Sprintf("on %s %s will be %s", linkList(f), next, done)
	}
}
