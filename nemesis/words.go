package nemesis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockproof/harness/cluster"
	"lockproof/harness/history"
	"lockproof/internal/wording"
)

// Words are what a reader is told of a fault.
type Words struct {
	ToDo  func(Order) string         // what a step asks for: "kill n1 (SIGKILL)"
	Begun func(history.Fault) string // what happens: "n1 is killed (SIGKILL)"
	Over  func(history.Fault) string // what its end is, of a fault that has one: "n1 runs on"
	Was   string                     // what had happened to one target: "was killed"
	// Setting is how a scenario's setting is told of one client's links to nodes,
	// of faults that can be part of it: "c1 cannot reach n2".
	Setting func(client, nodes string, f history.Fault) string
}

// Order is a fault as a script or a schedule asks for it, in words.
type Order struct {
	Who       string            // its targets
	Direction cluster.Direction // "": both, or none
	By        string            // "": by nothing
	Jump      string            // how far, whichever way; "": not at all
	Back      bool              // the jump is backwards
	Rate      float64           // 0: as before
	Of        string
	Part      cluster.Part
	Times     int
}

// ToDo says what a kind of fault is to do, and whether there is such a kind.
func ToDo(kind string, o Order) (text string, known bool) {
	d := Find(kind)
	if d == nil {
		return "", false
	}
	return d.Words.ToDo(o) + oneWay(o.Direction), true
}

// Begun says what a fault did to its targets when it began.
func Begun(f history.Fault) string {
	if d := Find(f.Kind); d != nil {
		return d.Words.Begun(f) + oneWay(cluster.Direction(f.Asked["direction"]))
	}
	var measured []string
	for name, value := range f.Measured {
		measured = append(measured, name+" "+value)
	}
	slices.Sort(measured)
	return strings.TrimSpace(f.Kind+" "+who(f)) + wording.Behind(": ", strings.Join(measured, ", "))
}

// Over says what the end of a fault is.
func Over(f history.Fault) string {
	if d := Find(f.Kind); d != nil && d.Words.Over != nil {
		return d.Words.Over(f)
	}
	return f.Kind + " of " + who(f) + " ends"
}

// Setting says what a fault on the links from a client to nodes means, as part of
// a scenario's setting.
func Setting(client string, nodes []string, f history.Fault) string {
	if d := Find(f.Kind); d != nil && d.Words.Setting != nil {
		return d.Words.Setting(client, wording.List(nodes), f) + oneWay(cluster.Direction(f.Asked["direction"]))
	}
	return fmt.Sprintf("%s: %s of %s", client, f.Kind, wording.List(nodes)) + oneWay(cluster.Direction(f.Asked["direction"]))
}

// oneWay says in which direction a fault on a link works, if only in one.
func oneWay(d cluster.Direction) string {
	switch d {
	case cluster.ToNode:
		return ", towards the node only"
	case cluster.ToClient:
		return ", towards the client only"
	}
	return ""
}

// order puts who is meant into a sentence.
func order(sentence string) func(Order) string {
	return func(o Order) string { return fmt.Sprintf(sentence, o.Who) }
}

// becomes says what is done to a fault's targets: "n1 and n2 are killed".
func becomes(done string) func(history.Fault) string {
	return func(f history.Fault) string { return who(f) + " " + is(f) + " " + done }
}

// told puts a fault's targets into a sentence.
func told(sentence string) func(history.Fault) string {
	return func(f history.Fault) string { return fmt.Sprintf(sentence, who(f)) }
}

// who names a fault's targets.
func who(f history.Fault) string { return wording.List(f.Targets) }

// is agrees with a fault's targets, and s is the ending of their verb.
func is(f history.Fault) string {
	if len(f.Targets) > 1 {
		return "are"
	}
	return "is"
}

func s(f history.Fault) string {
	if len(f.Targets) == 1 {
		return "s"
	}
	return ""
}

// links names a fault's targets as such.
func links(f history.Fault) string {
	if len(f.Targets) == 1 {
		return "the link " + f.Targets[0]
	}
	return "the links " + who(f)
}

// RemembersKeys is what a story says of a node that is started again with keys.
const RemembersKeys = ", remembering keys"

// keysFound says whether a node has keys, by their number.
func keysFound(n string) string {
	switch n {
	case "":
		return ""
	case "0":
		return ", remembering no key"
	}
	return RemembersKeys
}

// times counts messages: "next SET", "next 2 SET", "next 2 commands to take a key".
func times(of, n string) string {
	if n == "" || n == "0" || n == "1" {
		return "next " + Message(of)
	}
	return "next " + n + " " + strings.Replace(Message(of), "command ", "commands ", 1)
}

// Message names the commands that a step is about: by their name, or by what they are
// to do.
func Message(of string) string {
	switch of {
	case cluster.Take, cluster.Extend, cluster.Release:
		return "command to " + of + " a key"
	}
	return of
}

// orderIntercept says what is to be done to messages of a link.
func orderIntercept(verb string) func(Order) string {
	return func(o Order) string {
		next := times(o.Of, strconv.Itoa(o.Times))
		if o.Part == cluster.PartReply {
			next = "reply to the " + next
		}
		return fmt.Sprintf("%s the %s on %s", verb, next, o.Who)
	}
}

// intercepted says what will be done to messages of a link.
func intercepted(done string) func(history.Fault) string {
	return func(f history.Fault) string {
		next := "the " + times(f.Asked["command"], f.Asked["times"])
		if f.Asked["part"] == string(cluster.PartReply) {
			next = "the reply to " + next
		}
		return fmt.Sprintf("on %s %s will be %s", links(f), next, done)
	}
}
