package checker

import (
	"cmp"
	"slices"
	"strings"
)

// overlapBlame explains two leases held at once.
type overlapBlame struct {
	*blamer
	overlap
}

// explain tells why, and cites the two beliefs.
func (b *overlapBlame) explain() *Blame {
	return b.cause().restingOn(int(b.basis(b.first, b.second.From).end), int(b.grantOf(b.second).end))
}

// cause tells why, from who owned the key on which node. In this order: one token for two leases; one client's command
// that prolonged the other's key; one server with two votes; a grant by too few nodes, which
// nothing that was lost has to explain; the nodes that both owned, one after the other, and
// what made them let go of the first owner while it still believed; and else two sets of
// nodes with none in common.
func (b *overlapBlame) cause() *Blame {
	if b.first.Token != "" && b.first.Token == b.second.Token {
		return b.blame(int(b.grantOf(b.second).end), "FreshToken",
			"%s and %s both drew the token %s, so each took the other's keys for its own", b.first.Client, b.second.Client, b.second.Token)
	}
	if cause := b.foreignExtension(); cause != nil {
		return cause
	}
	if cause := b.alias(); cause != nil {
		return cause
	}
	loser, losses := b.losses()
	if cause := b.promotion(); cause != nil && len(losses) == 0 {
		return cause
	}
	if len(losses) == 0 || b.tooFew() {
		return b.votes()
	}
	return b.inevitable(loser, losses)
}

// foreignExtension looks for an extension by one of the two of a key that
// belonged to the other.
func (b *overlapBlame) foreignExtension() *Blame {
	for _, h := range b.of(b.first.Key).tenures {
		token := b.text(h.token)
		for _, p := range b.prolonged[h] {
			client := b.name(p.client)
			both := client == b.first.Client && token == b.second.Token ||
				client == b.second.Client && token == b.first.Token
			if both && p.client != h.owner && p.time < b.shared().until {
				return b.blame(p.event, "ExtendOwnership",
					"%s extended the key on %s at %s, although it was %s's by then", client, b.name(h.node), at(p.time), b.name(h.owner)).
					restingOn(int(h.set))
			}
		}
	}
	return nil
}

// losses gives the holdings that one of the two leases had lost before the
// overlap, and whose lease it is. If the second was granted although its keys
// were gone by then, the loss is its own; else the first lost the keys that
// the second then got.
func (b *overlapBlame) losses() (Lease, []*holding) {
	first, second := b.owned(b.first, b.second.From), b.owned(b.second, b.second.From)
	var own []*holding
	for _, h := range second {
		if h.until < b.second.From {
			own = append(own, h)
		}
	}
	if left := len(second) - len(own); left < b.majority() && len(own) >= left {
		return b.second, own
	}
	var taken []*holding
	for node, h := range first {
		if next := second[node]; next != nil && h.until <= next.from {
			taken = append(taken, h)
		}
	}
	return b.first, taken
}

// inevitable picks, of the nodes that a lease lost, the one that cost it the
// power to keep others out, and explains its loss. It cites those before it, too, and
// how the other lease got what this one lost.
func (b *overlapBlame) inevitable(l Lease, losses []*holding) *Blame {
	slices.SortFunc(losses, func(x, y *holding) int {
		return cmp.Or(cmp.Compare(x.until, y.until), cmp.Compare(b.name(x.node), b.name(y.node)))
	})
	votes := len(b.owned(l, l.From))
	spare := votes - b.blocking() // this many more than it needs to keep others out
	index := max(0, min(spare, len(losses)-1))
	blame := b.forLoss(l, losses[index])
	other := b.second
	if l.Client == b.second.Client && l.ID == b.second.ID {
		other = b.first
	}
	got := b.owned(other, b.second.From)
	for _, lost := range losses[:index+1] {
		blame.restingOn(int(lost.set), int(lost.ender))
		if next := got[b.name(lost.node)]; next != nil && next.from >= lost.until {
			blame.restingOn(int(next.set))
		}
	}
	return blame
}

// alias looks for a grant that rests on fewer servers than a majority,
// because one of them stands in the list of nodes under two names.
func (b *overlapBlame) alias() *Blame {
	ids := b.runIDs()
	for _, l := range []Lease{b.first, b.second} {
		owned := b.owned(l, l.From)
		servers := map[string]*holding{} // by run ID, each one's vote
		for _, node := range keysOf(owned) {
			servers[ids[node].runID] = cmp.Or(servers[ids[node].runID], owned[node])
		}
		if len(servers) >= b.majority() {
			continue
		}
		for _, node := range keysOf(owned) {
			for _, twin := range b.header.Nodes {
				if twin != node && ids[node].runID != "" && ids[twin].runID == ids[node].runID {
					return b.blame(int(owned[node].set), "DistinctNodes",
						"%s was granted the lock by %d of %d servers: %s and %s are one, whose vote was counted twice",
						l.Client, len(servers), len(b.header.Nodes), node, twin).
						restingOn(ids[node].event, ids[twin].event).restingOn(shown(servers)...)
				}
			}
		}
	}
	return nil
}

// tooFew reports whether a client that asks a majority of the nodes, or runs without that
// rule, held its lease with fewer: what was lost beside that was not needed to keep it, and a
// lock that asks one node of many claims no majority.
func (b *overlapBlame) tooFew() bool {
	for _, l := range []Lease{b.first, b.second} {
		votes := len(b.owned(l, b.second.From))
		if votes > 0 && votes < b.majority() && (b.off("Majority") || len(b.usedBy(l.Client)) >= b.majority()) {
			return true
		}
	}
	return false
}

// votes explains two leases that had no node in common, or of which the
// history shows no keys at all.
func (b *overlapBlame) votes() *Blame {
	first, second := b.owned(b.first, b.first.From), b.owned(b.second, b.second.From)
	few, votes := b.second, keysOf(second)
	if len(first) < len(second) {
		few, votes = b.first, keysOf(first)
	}
	event := int(b.basis(few, few.From).end)
	switch {
	case len(first) == 0 || len(second) == 0:
		return b.blame(int(b.basis(b.second, b.second.From).end), Unexplained,
			"%s was told that it held the lock; the history does not show which keys it had", b.second.Client)
	case len(votes) < b.majority() && !b.off("Majority") && !slices.Equal(b.usedBy(b.first.Client), b.usedBy(b.second.Client)):
		return b.blame(event, SameNodes, "%s locks on %s, %s on %s: their majorities need not share a node", b.first.Client,
			strings.Join(b.usedBy(b.first.Client), " "), b.second.Client, strings.Join(b.usedBy(b.second.Client), " ")).
			restingOn(b.commandsOf(b.first.Client)...).restingOn(b.commandsOf(b.second.Client)...)
	case len(votes) < b.majority():
		return b.blame(event, "Majority", "%s was granted the lock by %s alone, %d of %d nodes",
			few.Client, strings.Join(votes, " "), len(votes), len(b.header.Nodes)).restingOn(shown(b.owned(few, few.From))...)
	}
	return b.blame(event, Unexplained, "both owned a majority of the keys; the history does not show how")
}

// shown are the events that showed holdings first.
func shown(holdings map[string]*holding) (events []int) {
	for _, h := range holdings {
		events = append(events, int(h.set))
	}
	return events
}

// commandsOf are a client's first commands to the nodes that it locks on.
func (b *overlapBlame) commandsOf(client string) (events []int) {
	for _, node := range b.header.Nodes {
		if event, reached := b.commanded[client+">"+node]; reached {
			events = append(events, event)
		}
	}
	return events
}

// usedBy gives the nodes that a client locks on, sorted: those that its commands
// reached, and those that a fault may have kept them from.
func (b *overlapBlame) usedBy(client string) []string {
	used := map[string]bool{}
	for link := range b.commanded {
		from, node, isLink := strings.Cut(link, ">")
		if isLink && from == client && slices.Contains(b.header.Nodes, node) {
			used[node] = true
		}
	}
	for _, node := range b.header.Nodes {
		if len(b.reach().unhealthy(client, node)) > 0 {
			used[node] = true
		}
	}
	return keysOf(used)
}

// identity is a node's run ID, with the look that found it.
type identity struct {
	runID string
	event int
}

// runIDs gives each node's as the first look found it.
func (b *blamer) runIDs() map[string]identity {
	b.looking.Do(func() {
		b.servers = map[string]identity{}
		for e := range b.rare.all() {
			if e.node != nil && e.node.Up && b.servers[e.process].runID == "" {
				b.servers[e.process] = identity{e.node.RunID, e.index}
			}
		}
	})
	return b.servers
}
