package traffic

import (
	"fmt"

	"example.org/lockproof/harness/history"
)

// quorumCheck holds what clients say of their leases against the nodes' answers.
type quorumCheck struct {
	quorum int // how many nodes the lock says that it needs; 0: it does not say
	asking map[clientKey]*votes
}

// clientKey is a client with the key that it wants or has.
type clientKey struct{ client, key string }

// votes are those for one client about one key since it began to ask, and since it began to extend its lease.
type votes struct{ taken, extended map[vote]bool }

// vote is the yes of a node to a token.
type vote struct{ token, node string }

func (b *quorumCheck) votes(a clientKey) *votes {
	v := b.asking[a]
	if v == nil {
		v = &votes{map[vote]bool{}, map[vote]bool{}}
		b.asking[a] = v
	}
	return v
}

// answered counts a node's yes.
func (b *quorumCheck) answered(client, node string, o *op, e *history.Event) {
	if b.quorum == 0 || o.answer != yes || o.action != take && o.action != extend {
		return
	}
	v := b.votes(clientKey{client, e.Command.Key})
	v.extended[vote{o.token, node}] = true // a lock may extend by setting the key anew
	if o.action == take {
		v.taken[vote{o.token, node}] = true
	}
}

// operation follows what a client says. Who believes needs the yes of enough nodes.
func (b *quorumCheck) operation(r *Reader, i int, e *history.Event) {
	if b.quorum == 0 || e.Op != history.OpAcquire && e.Op != history.OpExtend {
		return
	}
	v := b.votes(clientKey{e.Process, e.Key})
	switch {
	case e.Type == history.TypeInvoke && e.Op == history.OpAcquire:
		clear(v.taken)
		clear(v.extended)
	case e.Type == history.TypeInvoke:
		clear(v.extended)
	case e.Type == history.TypeOK && e.Token != "": // else the lock does not tell which key is its own
		b.checkGrant(r, i, e, v)
	}
}

func (b *quorumCheck) checkGrant(r *Reader, i int, e *history.Event, v *votes) {
	ballots, did := v.taken, "was granted"
	if e.Op == history.OpExtend {
		ballots, did = v.extended, "extended"
	}
	r.report.Believed++
	said := 0
	for v := range ballots {
		if v.token == e.Token {
			said++
		}
	}
	if said >= b.quorum {
		return
	}
	r.report.add(Finding{About: Lock, Time: e.Time, Process: e.Process, Key: e.Key, Event: i,
		What: fmt.Sprintf("at %s it %s %q with the yes of %d of %d nodes, and the lock says that it needs %d",
			when(e.Time), did, e.Key, said, len(r.nodes), b.quorum)})
}
