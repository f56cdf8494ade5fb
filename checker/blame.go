package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockproof/harness/history"
)

// The assumptions that a violation can blame: what a lock on several nodes
// cannot check and takes on trust.
const (
	NodesRemember   = "nodes remember"
	ClocksAgree     = "clocks run at nearly one rate"
	HolderStops     = "the holder stops in time"
	NothingRemoves  = "nothing removes keys"
	NothingEvicts   = "nothing evicts keys"
	SameNodes       = "every client uses the same nodes"
	KeysExpire      = "every key has an expiry"
	ReleaseArrives  = "a release reaches every node"
	MajorityHealthy = "a healthy majority is in reach"
	OneCounter      = "fencing tokens come from one counter"
	ReplicasHaveAll = "a promoted replica has every acknowledged write"
	OneMaster       = "there is one master at a time"
	Unexplained     = "not shown by this history"
)

// blame makes a blame of the event at an index; locate says when that was.
func (r *run) blame(event int, broke, format string, args ...any) *Blame {
	why := fmt.Sprintf(format, args...)
	if r.off(broke) {
		why += "; the rule " + broke + " was switched off"
	}
	b := &Blame{Event: event, Broke: broke, Why: why}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blames = append(r.blames, b)
	return b
}

// blameOverlap explains two leases held at once, from who owned the key on
// which node. In this order: one token for two leases; one client's command
// that prolonged the other's key; one server with two votes; the nodes that
// both owned, one after the other, and what made them let go of the first owner
// while it still believed; and else two sets of nodes with none in common.
func (r *run) blameOverlap(o overlap) *Blame {
	if o.first.Token != "" && o.first.Token == o.second.Token {
		return r.blame(int(r.grantOf(o.second).end), "FreshToken",
			"%s and %s both drew the token %s, so each took the other's keys for its own", o.first.Client, o.second.Client, o.second.Token)
	}
	if b := r.blameForeignExtension(o); b != nil {
		return b
	}
	if b := r.blameAlias(o); b != nil {
		return b
	}
	loser, losses := r.losses(o)
	if b := r.blamePromotion(o); b != nil && len(losses) == 0 {
		return b
	}
	if len(losses) == 0 {
		return r.blameVotes(o)
	}
	return r.inevitable(loser, losses)
}

// grantOf gives the acquire that began a lease.
func (r *run) grantOf(l Lease) *operation {
	return r.operations.find(r.names.find(l.Client), l.ID)
}

// source gives the operation whose ok a client's belief rests on at a time: the
// latest extension of the lease, or its acquire.
func (r *run) source(l Lease, t int64) *operation {
	source := r.grantOf(l)
	client := source.process
	for o := range r.operations.kept.all() {
		if o.op == opExtend && o.ok() && o.process == client && o.lease == l.ID && o.done <= t && o.done > source.done {
			source = o
		}
	}
	return source
}

// owned gives, for each node, the last tenure of a lease's token that began by
// a time.
func (r *run) owned(l Lease, by int64) map[string]*holding {
	nodes := map[string]*holding{}
	token := r.texts.find(l.Token)
	for _, h := range r.of(l.Key).tenures {
		if h.token == token && h.from <= by {
			nodes[r.name(h.node)] = h
		}
	}
	return nodes
}

// blameForeignExtension looks for an extension by one of the two of a key that
// belonged to the other.
func (r *run) blameForeignExtension(o overlap) *Blame {
	for _, h := range r.of(o.first.Key).tenures {
		token := r.text(h.token)
		for _, p := range r.prolonged[h] {
			client := r.name(p.client)
			both := client == o.first.Client && token == o.second.Token ||
				client == o.second.Client && token == o.first.Token
			if both && p.client != h.owner && p.time <= o.shared().until {
				return r.blame(p.event, "ExtendOwnership",
					"%s extended the key on %s at %s, although it was %s's by then", client, r.name(h.node), at(p.time), r.name(h.owner))
			}
		}
	}
	return nil
}

// losses gives the holdings that one of the two leases had lost before the
// overlap, and whose lease it is. If the second was granted although its keys
// were gone by then, the loss is its own; else the first lost the keys that
// the second then got.
func (r *run) losses(o overlap) (Lease, []*holding) {
	first, second := r.owned(o.first, o.second.From), r.owned(o.second, o.second.From)
	var own []*holding
	for _, h := range second {
		if h.until < o.second.From {
			own = append(own, h)
		}
	}
	if len(own) > 0 && len(second)-len(own) < r.majority() && len(own) >= len(second)-len(own) {
		return o.second, own
	}
	var taken []*holding
	for node, h := range first {
		if next := second[node]; next != nil && h.until <= next.from {
			taken = append(taken, h)
		}
	}
	return o.first, taken
}

// inevitable picks, of the nodes that a lease lost, the one that cost it the
// power to keep others out, and explains its loss.
func (r *run) inevitable(l Lease, losses []*holding) *Blame {
	slices.SortFunc(losses, func(a, b *holding) int {
		return cmp.Or(cmp.Compare(a.until, b.until), cmp.Compare(r.name(a.node), r.name(b.node)))
	})
	votes := len(r.owned(l, l.From))
	spare := votes - r.blocking() // this many more than it needs to keep others out
	index := max(0, min(spare, len(losses)-1))
	return r.explain(l, losses[index])
}

// blameAlias looks for a grant that rests on fewer servers than a majority,
// because one of them stands in the list of nodes under two names.
func (r *run) blameAlias(o overlap) *Blame {
	ids := r.runIDs()
	for _, l := range []Lease{o.first, o.second} {
		owned := r.owned(l, l.From)
		servers := map[string]bool{}
		for node := range owned {
			servers[ids[node]] = true
		}
		if len(servers) >= r.majority() {
			continue
		}
		for _, node := range keysOf(owned) {
			for _, twin := range r.header.Nodes {
				if twin != node && ids[node] != "" && ids[twin] == ids[node] {
					return r.blame(int(owned[node].set), "DistinctNodes",
						"%s was granted the lock by %d of %d servers: %s and %s are one, whose vote was counted twice",
						l.Client, len(servers), len(r.header.Nodes), node, twin)
				}
			}
		}
	}
	return nil
}

// runIDs gives each node's run ID as the first look found it.
func (r *run) runIDs() map[string]string {
	ids := map[string]string{}
	for _, e := range r.rare {
		if e.Type == history.TypeNode && e.Node != nil && e.Node.Up && ids[e.Process] == "" {
			ids[e.Process] = e.Node.RunID
		}
	}
	return ids
}

// explain says why a node let go of a lease's key while its client believed.
func (r *run) explain(l Lease, h *holding) *Blame {
	node, ender := r.name(h.node), int(h.ender)
	switch h.ended {
	case forgotten:
		return r.blame(ender, NodesRemember, "%s, and came back without %s's key", r.faultAt(ender, node), l.Client)
	case resynced:
		master := r.header.Replicas[node]
		return r.blame(ender, NodesRemember, "%s and came back empty, and %s, its replica, copied that: %s's key was gone there too",
			r.faultAt(ender, master), node, l.Client)
	case flushed:
		return r.blame(ender, NodesRemember, "%s: %s's key was gone", r.faultAt(ender, node), l.Client)
	case evicted:
		return r.blame(ender, NothingEvicts, "%s, and made room by evicting %s's key", r.faultAt(ender, node), l.Client)
	case removed:
		return r.blame(ender, "CompareAndDelete", "%s deleted the key on %s at %s, although it was %s's", r.name(h.by), node,
			at(h.until), l.Client)
	case deleted:
		return r.blame(ender, "FreshToken",
			"the release of an earlier attempt of %s reached %s at %s and deleted the key of the lease, which had the same token", l.Client, node, at(h.until))
	case expired:
		return r.explainExpiry(l, h)
	}
	return r.blame(max(ender, int(h.set)), NothingRemoves,
		"%s's key was gone from %s by %s, and no command of a client explains it", l.Client, node, at(h.until))
}

// faultAt describes the fault that an event began on a target.
func (r *run) faultAt(event int, target string) string {
	for _, f := range r.faults {
		if f.event == event && f.target == target {
			return f.describe()
		}
	}
	return fmt.Sprintf("%s was hit at %s", target, at(r.event(event).Time))
}

// blameVotes explains two leases that had no node in common, or of which the
// history shows no keys at all.
func (r *run) blameVotes(o overlap) *Blame {
	first, second := r.owned(o.first, o.first.From), r.owned(o.second, o.second.From)
	few, votes := o.second, keysOf(second)
	if len(first) < len(second) {
		few, votes = o.first, keysOf(first)
	}
	event := int(r.source(few, few.From).end)
	switch {
	case len(first) == 0 || len(second) == 0:
		return r.blame(int(r.source(o.second, o.second.From).end), Unexplained,
			"%s was told that it held the lock; the history shows no keys that tell why", o.second.Client)
	case len(votes) < r.majority() && !r.off("Majority") && !slices.Equal(r.usedBy(o.first.Client), r.usedBy(o.second.Client)):
		return r.blame(event, SameNodes, "%s locks on %s, %s on %s: their majorities need not share a node", o.first.Client,
			strings.Join(r.usedBy(o.first.Client), " "), o.second.Client, strings.Join(r.usedBy(o.second.Client), " "))
	case len(votes) < r.majority():
		return r.blame(event, "Majority", "%s was granted the lock by %s alone, %d of %d nodes",
			few.Client, strings.Join(votes, " "), len(votes), len(r.header.Nodes))
	}
	return r.blame(event, Unexplained, "both owned a majority of the keys; the history does not show how")
}

// usedBy gives the nodes that a client locks on, sorted: those that its commands
// reached, and those that a fault may have kept them from.
func (r *run) usedBy(client string) []string {
	used := map[string]bool{}
	for link := range r.commanded {
		from, node, isLink := strings.Cut(link, ">")
		if isLink && from == client && slices.Contains(r.header.Nodes, node) {
			used[node] = true
		}
	}
	for _, node := range r.header.Nodes {
		if len(r.unhealthy(client, node)) > 0 {
			used[node] = true
		}
	}
	return keysOf(used)
}
