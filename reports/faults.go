package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/history"
)

// Band is one fault from its beginning to its end; a fault without duration
// ends where it begins.
type Band struct {
	From, Until int64
	Event       int // that began it
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
	for i, e := range events {
		if e.Type != history.TypeFault || e.Fault == nil || e.Fault.Setting || e.Fault.Phase == history.PhaseEnd {
			continue
		}
		b := Band{From: e.Time, Until: e.Time, Event: i, Kind: e.Fault.Kind, Targets: slices.Clone(e.Fault.Targets)}
		if e.Fault.Phase == history.PhaseBegin {
			if until, ended := ends[e.Fault.ID]; ended {
				b.Until = until
			} else {
				b.Until = max(end, e.Time)
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
func settings(events []history.Event) []string {
	type kind struct{ client, kind, direction, by string }
	var order []kind
	nodes := map[kind][]string{}
	for _, e := range events {
		if e.Type != history.TypeFault || e.Fault == nil || !e.Fault.Setting || e.Fault.Phase == history.PhaseEnd {
			continue
		}
		for _, link := range e.Fault.Targets {
			client, node, _ := strings.Cut(link, "-")
			k := kind{client, e.Fault.Kind, e.Fault.Asked["direction"], e.Fault.Asked["by"]}
			if nodes[k] == nil {
				order = append(order, k)
			}
			nodes[k] = append(nodes[k], node)
		}
	}
	var texts []string
	for _, k := range order {
		text := fmt.Sprintf("%s: %s of %s", k.client, k.kind, list(nodes[k]))
		switch k.kind {
		case "cut":
			text = fmt.Sprintf("%s cannot reach %s", k.client, list(nodes[k]))
		case "delay":
			text = fmt.Sprintf("%s is %s away from %s", k.client, readable(k.by), list(nodes[k]))
		}
		texts = append(texts, text+oneWay(k.direction))
	}
	return texts
}

func oneWay(direction string) string {
	switch cluster.Direction(direction) {
	case cluster.ToNode:
		return ", towards the node only"
	case cluster.ToClient:
		return ", towards the client only"
	}
	return ""
}

// sameFault is what faults have in common that are told in one sentence.
func sameFault(f history.Fault) string {
	var asked []string
	for _, name := range slices.Sorted(maps.Keys(f.Asked)) {
		asked = append(asked, name+"="+f.Asked[name])
	}
	return fmt.Sprint(f.Kind, f.Phase, f.Effective, asked)
}

// faultText says what a fault did to its targets.
func faultText(f history.Fault, targets []string) string {
	text := beginText(f, targets)
	if f.Phase == history.PhaseEnd {
		text = endText(f, targets)
	}
	if !f.Effective && f.Phase != history.PhaseEnd {
		text += ", but it did not take effect"
	}
	return text
}

func beginText(f history.Fault, targets []string) string {
	who, be := list(targets), "is"
	if len(targets) > 1 {
		be = "are"
	}
	switch f.Kind {
	case "kill":
		return fmt.Sprintf("%s %s killed (SIGKILL)", who, be)
	case "shutdown":
		return fmt.Sprintf("%s %s shut down cleanly", who, be)
	case "power-loss":
		return fmt.Sprintf("the power of %s fails%s", who, behind(": lost ", f.Measured["lost"]))
	case "start":
		return fmt.Sprintf("%s %s started again%s%s", who, be, behind(" by ", f.Measured["by"]), keysFound(f.Measured["keys"]))
	case "pause":
		return fmt.Sprintf("%s %s paused (SIGSTOP)", who, be)
	case "resume":
		return who + " run" + third(targets) + " on"
	case "flush":
		return fmt.Sprintf("%s %s flushed: every key is gone", who, be)
	case "promote":
		return fmt.Sprintf("%s %s promoted: a master from here on%s", who, be, keysFound(f.Measured["keys"]))
	case "clock":
		return clockFaultText(f, targets)
	case "slow-fsync":
		return fmt.Sprintf("each fsync of %s takes%s longer from here on", who, behind(" ", readable(f.Asked["by"])))
	case "fail-fsync":
		return fmt.Sprintf("each fsync of %s fails from here on%s", who, behind(" with ", f.Asked["error"]))
	case "fill-disk":
		return fmt.Sprintf("the disk of %s is full%s", who, behind(": writes fail with ", f.Asked["error"]))
	case "rewrite":
		return fmt.Sprintf("%s begin%s to rewrite the append-only file", who, third(targets))
	case "disconnect":
		return fmt.Sprintf("%s %s taken out of the network: nobody reaches %s", who, be, map[bool]string{true: "it", false: "them"}[len(targets) == 1])
	case "fill":
		return fmt.Sprintf("another user fills the memory of %s%s", who, evicted(f.Measured["evicted_keys"]))
	case "cut":
		return fmt.Sprintf("%s %s cut%s", links(targets), be, oneWay(f.Asked["direction"]))
	case "delay":
		return fmt.Sprintf("%s %s delayed%s%s", links(targets), be, behind(" by ", readable(f.Asked["by"])), oneWay(f.Asked["direction"]))
	case "hold", "lose", "drop":
		done := map[string]string{"hold": "held back", "lose": "lost", "drop": "dropped, and the connection closed"}[f.Kind]
		return fmt.Sprintf("on %s %s will be %s", links(targets), intercepted(f), done)
	case "heal":
		return fmt.Sprintf("%s %s healed", links(targets), be)
	case "let-go":
		return fmt.Sprintf("what is held back on %s is let go", links(targets))
	}
	return strings.TrimSpace(f.Kind+" "+who) + behind(": ", quantities(f.Measured))
}

func endText(f history.Fault, targets []string) string {
	switch f.Kind {
	case "pause":
		return list(targets) + " run" + third(targets) + " on" + behind(", having been stopped for ", readable(f.Measured["stopped for"]))
	case "cut":
		return "the cut of " + links(targets) + " is healed"
	case "delay":
		return links(targets) + " lose the delay"
	case "hold":
		return "what was held back on " + links(targets) + " is let go"
	case "slow-fsync", "fail-fsync":
		return "fsyncs of " + list(targets) + " are as before" + behind("; how many were not: ", f.Measured["fsyncs"])
	case "fill-disk":
		return "the disk of " + list(targets) + " has room again" + behind("; writes that it refused: ", f.Measured["refused writes"])
	case "rewrite":
		return list(targets) + "'s rewrite of the append-only file is over"
	case "disconnect":
		return list(targets) + " can be reached again"
	case "fill":
		return "the memory of " + list(targets) + " has room again" + behind("; writes that it refused: ", f.Measured["refused writes"])
	case "lose", "drop":
		return "on " + links(targets) + " messages pass again"
	}
	return f.Kind + " of " + list(targets) + " ends"
}

// evicted says how many keys made room.
func evicted(n string) string {
	switch n {
	case "", "0":
		return ""
	case "1":
		return ": 1 key makes room for it"
	}
	return ": " + n + " keys make room for it"
}

// third is the ending of a verb whose subject they are.
func third(targets []string) string {
	if len(targets) == 1 {
		return "s"
	}
	return ""
}

// behind puts a quantity behind what introduces it, if it is known.
func behind(introduction, quantity string) string {
	if quantity == "" {
		return ""
	}
	return introduction + quantity
}

func links(targets []string) string {
	if len(targets) == 1 {
		return "the link " + targets[0]
	}
	return "the links " + list(targets)
}

// readable writes a duration of Go's for a reader; other text stays as it is.
func readable(quantity string) string {
	if d, err := time.ParseDuration(quantity); err == nil {
		return Duration(d)
	}
	return quantity
}

// intercepted names the messages that a fault waits for.
func intercepted(f history.Fault) string {
	what := "the next " + f.Asked["command"]
	if n := f.Asked["times"]; n != "" && n != "1" {
		what = fmt.Sprintf("the next %s %s", n, f.Asked["command"])
	}
	if f.Asked["part"] == string(cluster.PartReply) {
		what = "the reply to " + what
	}
	return what
}

func keysFound(n string) string {
	switch n {
	case "":
		return ""
	case "0":
		return ", and remembers no key"
	}
	return remembersAll
}

// What a node that is started again remembers; others, where the key that the
// story is about is not among them.
const (
	remembersAll    = ", and remembers its keys"
	remembersOthers = ", and remembers other keys"
)

func clockFaultText(f history.Fault, targets []string) string {
	clocks := "the clock of " + list(targets)
	if len(targets) > 1 {
		clocks = "the clocks of " + list(targets)
	}
	q := f.Measured
	if len(q) == 0 {
		q = f.Asked
	}
	var parts []string
	if jump := q["jump"]; strings.HasPrefix(jump, "-") {
		parts = append(parts, "jump"+third(targets)+" back by "+readable(jump[1:]))
	} else if jump != "" {
		parts = append(parts, "jump"+third(targets)+" forward by "+readable(jump))
	}
	if rate := q["rate"]; rate != "" && (rate != "1" || len(parts) == 0) {
		parts = append(parts, "run"+third(targets)+" at "+rate+" times the true rate")
	}
	if len(parts) == 0 {
		return list(targets) + ": the clock is set"
	}
	return clocks + " " + list(parts)
}
