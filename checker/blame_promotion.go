package checker

import (
	"slices"
	"strings"

	"lockproof/harness/history"
)

// promotion explains two leases of which one had its key on a master and the
// other on the replica of it that was promoted.
func (b *overlapBlame) promotion() *Blame {
	for _, pair := range [][2]Lease{{b.first, b.second}, {b.second, b.first}} {
		old, fresh := pair[0], pair[1]
		on := b.owned(old, old.From)
		for _, replica := range keysOf(b.owned(fresh, fresh.From)) {
			master := b.header.Replicas[replica]
			event, found := b.promoted(replica, fresh.From)
			h := on[master]
			if h == nil || !found {
				continue
			}
			t := b.event(event).time
			if h.from > t {
				return b.blame(event, OneMaster, "%s was promoted at %s, but %s still reached the old master, %s, which "+
					"granted it the lock at %s",
					replica, at(t), old.Client, master, at(h.from))
			}
			return b.blame(event, ReplicasHaveAll,
				"%s was promoted at %s without %s's key, which %s had acknowledged at %s%s: replication is asynchronous",
				replica, at(t), old.Client, master, at(h.from), b.miscounted(old, master))
		}
	}
	return nil
}

// promoted gives the event that made a replica a master, before a time: an
// operator's command, or the first look that found it to be one.
func (b *overlapBlame) promoted(replica string, by int64) (int, bool) {
	for e := range b.rare.all() {
		if e.time > by || b.header.Replicas[replica] == "" {
			break
		}
		ordered := e.fault != nil && e.fault.Class == history.Failover && e.fault.Effective && slices.Contains(e.fault.Targets, replica)
		seen := e.process == replica && e.node != nil && e.node.Replication != nil &&
			e.node.Replication.Role == history.RoleMaster
		if ordered || seen {
			return e.index, true
		}
	}
	return 0, false
}

// miscounted tells of a WAIT that counted replicas for a lease's client although
// none had its key.
func (b *overlapBlame) miscounted(l Lease, master string) string {
	said := ""
	b.fail(b.visit(func(_ int, e *history.Event) bool {
		if e.Type == history.TypeReply && e.Process == l.Client+">"+master && e.Command.Name == "WAIT" &&
			e.Time >= l.Asked && e.Time <= l.From &&
			strings.Trim(e.Command.Reply, "0123456789") == "" && e.Command.Reply != "0" {
			said = " (WAIT had counted " + e.Command.Reply + ": it answers for its own connection alone)"
		}
		return said == "" && e.Time <= l.From
	}))
	return said
}
