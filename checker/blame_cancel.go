package checker

import "lockproof/harness/history"

// cancelBlame explains why an acquire went on after its caller had given up.
type cancelBlame struct {
	*blamer
	of    *operation
	by    cancel
	after span // in which it should have returned
}

// explain looks for what the client did instead: it went on asking, or waited for a node,
// or did nothing that anybody could see.
func (b *cancelBlame) explain() *Blame {
	client, given := b.name(b.of.process), int(b.by.event)
	if x, asked := b.lastAsked(); asked {
		return b.blame(x.command, ContextHeeded, "%s went on asking: its SET reached %s at %s, %s after its caller had given up",
			client, x.node, at(x.asked), lasting(x.asked-b.by.time)).restingOn(given)
	}
	if x, waited := b.waitedFor(); waited {
		return b.blame(x.command, NodeTimeout, "%s went on waiting for %s, which had its command at %s and did not answer",
			client, x.node, at(x.asked)).restingOn(given)
	}
	if f, node, found := b.inTheWay(); found {
		return b.blame(f.event, NodeTimeout, "%s, and %s went on waiting for %s", f.describe(), client, node).restingOn(given)
	}
	return b.blame(given, ContextHeeded, "the history does not show what %s was waiting for", client)
}

// lastAsked gives the last SET of the client that reached a node, if that was in the later
// half of the time: what came before may have been on its way, or of the round that
// was under way.
func (b *cancelBlame) lastAsked() (last exchange, asked bool) {
	for _, x := range b.mine() {
		if x.effect == history.EffectSet && x.asked > b.after.from+b.after.length()/2 {
			last, asked = x, true
		}
	}
	return last, asked
}

// waitedFor gives the exchange of the client that was without an answer for longest once
// its caller had given up, if it was for most of the time.
func (b *cancelBlame) waitedFor() (longest exchange, waited bool) {
	var most int64
	for _, x := range b.mine() {
		if open := min(x.answered, b.after.until) - max(x.asked, b.after.from); open > most {
			longest, most = x, open
		}
	}
	return longest, most > b.after.length()/2
}

// mine are the client's exchanges from the acquire's call up to when it should have
// returned.
func (b *cancelBlame) mine() []exchange {
	var mine []exchange
	for _, x := range b.exchanges() {
		if x.client == b.name(b.of.process) && x.asked >= b.of.asked && x.asked < b.after.until {
			mine = append(mine, x)
		}
	}
	return mine
}

// inTheWay gives the fault that kept a node from the client, one of the scenario's
// setting only if there is no other.
func (b *cancelBlame) inTheWay() (by fault, node string, found bool) {
	waiting := waitBlame{b.blamer, b.of, b.after}
	for _, f := range b.faults {
		n, mine := waiting.inTheWay(f)
		if mine && (!found || by.cause.Setting && !f.cause.Setting) {
			by, node, found = f, n, true
		}
	}
	return by, node, found
}
