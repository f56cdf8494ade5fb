package traffic

import (
	"fmt"

	"example.org/lockproof/harness/history"
)

// quorumCheck compares the leases that clients report with the nodes' replies: a grant needs the yes of a quorum of
// nodes to its token since the acquire began, an extension since the extend began.
type quorumCheck struct {
	quorum   int // how many nodes the lock declares that it needs; 0: not declared
	byClient map[clientKey]*votes
}

type clientKey struct{ client, key string }

// votes are one client's votes on one key: those to its SETs since its acquire began, and those to its SETs and
// extensions since its acquire or extend began.
type votes struct{ taken, extended map[vote]bool }

// vote is the yes of a node to a token.
type vote struct{ token, node string }

func (b *quorumCheck) votes(a clientKey) *votes {
	v := b.byClient[a]
	if v == nil {
		v = &votes{map[vote]bool{}, map[vote]bool{}}
		b.byClient[a] = v
	}
	return v
}

func (b *quorumCheck) addVote(client, node string, o *op, e *history.Event) {
	if b.quorum == 0 || o.answer != yes || o.action != take && o.action != extend {
		return
	}
	v := b.votes(clientKey{client, e.Command.Key})
	v.extended[vote{o.token, node}] = true // a lock may extend by setting the key again
	if o.action == take {
		v.taken[vote{o.token, node}] = true
	}
}

// operation forgets the votes when an acquire or extend begins, and checks them when it succeeds.
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
	case e.Type == history.TypeOK && e.Token != "": // else the lock does not show its token
		b.checkGrant(r, i, e, v)
	}
}

func (b *quorumCheck) checkGrant(r *Reader, i int, e *history.Event, v *votes) {
	ballots, did := v.taken, "was granted"
	if e.Op == history.OpExtend {
		ballots, did = v.extended, "extended"
	}
	r.report.Believed++
	agreed := 0
	for v := range ballots {
		if v.token == e.Token {
			agreed++
		}
	}
	if agreed >= b.quorum {
		return
	}
	r.report.add(Finding{About: Lock, Time: e.Time, Process: e.Process, Key: e.Key, Event: i,
		What: fmt.Sprintf("at %s it %s %q with the consent of %d of %d nodes, although the lock declares that it needs %d",
			formatTime(e.Time), did, e.Key, agreed, len(r.nodes), b.quorum)})
}
