package nemesis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/wording"
)

// Words are what a reader is told of a fault.
type Words struct {
	Instruction func(Instruction) string   // what a step asks for: "kill n1 (SIGKILL)"
	Begin       func(history.Fault) string // what happens: "n1 is killed (SIGKILL)"
	End         func(history.Fault) string // what its end is, of a fault that has one: "n1 runs on"
	Past        string                     // what had happened to one target: "was killed"
	// Background is how a scenario's setting is told of one client's links to nodes,
	// of faults that can be part of it: "c1 cannot reach n2".
	Background func(client, nodes string, f history.Fault) string
}

// Instruction is a fault as a script or a schedule asks for it, in words.
type Instruction struct {
	Targets   string            // its targets
	Direction history.Direction // "": both, or none
	Delay     string            // "": by nothing
	Jump      string            // how far, whichever way; "": not at all
	Backward  bool              // the jump is backwards
	Rate      float64           // 0: as before
	Command   string
	Part      history.Part
	Count     int
}

// InstructionText says what a kind of fault is to do, and whether there is such a kind.
func InstructionText(kind string, o Instruction) (text string, known bool) {
	d := Find(kind)
	if d == nil {
		return "", false
	}
	return d.Words.Instruction(o) + directionText(o.Direction), true
}

// BeginText says what a fault did to its targets when it began.
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

// EndText says what the end of a fault is.
func EndText(f history.Fault) string {
	if d := Find(f.Kind); d != nil && d.Words.End != nil {
		return d.Words.End(f)
	}
	return f.Kind + " of " + targetList(f) + " ends"
}

// BackgroundText says what a fault on the links from a client to nodes means, as part of
// a scenario's setting.
func BackgroundText(client string, nodes []string, f history.Fault) string {
	if d := Find(f.Kind); d != nil && d.Words.Background != nil {
		return d.Words.Background(client, wording.List(nodes), f) + directionText(f.Asked.Direction)
	}
	return fmt.Sprintf("%s: %s of %s", client, f.Kind, wording.List(nodes)) +
		directionText(f.Asked.Direction)
}

// directionText says in which direction a fault on a link works, if only in one.
func directionText(d history.Direction) string {
	switch d {
	case history.ToNode:
		return ", towards the node only"
	case history.ToClient:
		return ", towards the client only"
	}
	return ""
}

// instructionFor puts who is meant into a sentence.
func instructionFor(sentence string) func(Instruction) string {
	return func(o Instruction) string { return fmt.Sprintf(sentence, o.Targets) }
}

// passiveText says what is done to a fault's targets: "n1 and n2 are killed".
func passiveText(done string) func(history.Fault) string {
	return func(f history.Fault) string { return targetList(f) + " " + isOrAre(f) + " " + done }
}

// targetText puts a fault's targets into a sentence.
func targetText(sentence string) func(history.Fault) string {
	return func(f history.Fault) string { return fmt.Sprintf(sentence, targetList(f)) }
}

// targetList names a fault's targets.
func targetList(f history.Fault) string { return wording.List(f.Targets) }

// isOrAre agrees with a fault's targets, and verbEnding is that of their verb.
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

// linkList names a fault's targets as such.
func linkList(f history.Fault) string {
	if len(f.Targets) == 1 {
		return "the link " + f.Targets[0]
	}
	return "the links " + targetList(f)
}

// readable is a span of time for readers; "" for none.
func readable(d history.Duration) string {
	if d == 0 {
		return ""
	}
	return wording.Readable(d.String())
}

// keysText says whether a node has keys, by their number.
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

// CommandText names the commands that a step is about: by their name, or by what they are
// to do.
func CommandText(of string) string {
	switch of {
	case history.Take, history.Extend, history.Release:
		return "command to " + of + " a key"
	}
	return of
}

// interceptInstruction says what is to be done to messages of a link.
func interceptInstruction(verb string) func(Instruction) string {
	return func(o Instruction) string {
		next := nextMessages(o.Command, o.Count)
		if o.Part == history.PartReply {
			next = "reply to the " + next
		}
		return fmt.Sprintf("%s the %s on %s", verb, next, o.Targets)
	}
}

// interceptBegin says what will be done to messages of a link.
func interceptBegin(done string) func(history.Fault) string {
	return func(f history.Fault) string {
		next := "the " + nextMessages(f.Asked.Command, f.Asked.Times)
		if f.Asked.Part == history.PartReply {
			next = "the reply to " + next
		}
		return fmt.Sprintf("on %s %s will be %s", linkList(f), next, done)
	}
}
