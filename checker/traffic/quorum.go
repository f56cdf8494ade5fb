package traffic

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockproof/harness/history"
)

// quorumCheck holds what clients say of their leases against the nodes' answers.
type quorumCheck struct {
	quorum int // how many nodes the lock says that it needs; 0: it does not say
	// exact: times are those of the simulation, so that an answer of the node is the
	// client's moments later. disturbed: a fault may have been in its way.
	exact, disturbed bool
	ttl              int64
	asking           map[clientKey]*votes
}

// clientKey is a client with the key that it wants or has.
type clientKey struct{ client, key string }

// votes are the nodes' answers to one client about one key since it began to ask.
type votes struct {
	taken    map[string]*tokenVotes // by token
	extended map[string]*tokenVotes // since the extension was invoked, by token
}

// tokenVotes counts nodes that said yes.
type tokenVotes struct {
	nodes map[string]bool
	first int64 // when the first of its commands was called
	won   int64 // when the quorum was reached, 0 if not
}

func newBeliefs(h *history.Header) quorumCheck {
	return quorumCheck{
		quorum: h.Quorum, exact: !h.RealTime, ttl: h.TTL,
		asking: map[clientKey]*votes{},
	}
}

func (b *quorumCheck) votes(a clientKey) *votes {
	v := b.asking[a]
	if v == nil {
		v = &votes{taken: map[string]*tokenVotes{}, extended: map[string]*tokenVotes{}}
		b.asking[clientKey{strings.Clone(a.client), strings.Clone(a.key)}] = v
	}
	return v
}

// answered counts a node's yes.
func (b *quorumCheck) answered(client, node string, o *op, e *history.Event) {
	if b.quorum == 0 || o.answer != yes {
		return
	}
	v := b.votes(clientKey{client, e.Command.Key})
	switch o.action {
	case take:
		b.count(v.taken, node, o, e)
		b.count(v.extended, node, o, e) // a lock may extend by setting the key anew
	case extend:
		b.count(v.extended, node, o, e)
	}
}

func (b *quorumCheck) count(ballots map[string]*tokenVotes, node string, o *op, e *history.Event) {
	n := ballots[o.token]
	if n == nil {
		n = &tokenVotes{nodes: map[string]bool{}, first: o.call}
		ballots[strings.Clone(o.token)] = n
	}
	n.nodes[node] = true
	if len(n.nodes) == b.quorum && n.won == 0 {
		n.won = e.Time
	}
}

// operation follows what a client says.
func (b *quorumCheck) operation(r *Reader, i int, e *history.Event) {
	if b.quorum == 0 || e.Op != history.OpAcquire && e.Op != history.OpExtend {
		return
	}
	a := clientKey{e.Process, e.Key}
	switch e.Type {
	case history.TypeInvoke:
		v := b.votes(a)
		if e.Op == history.OpAcquire {
			clear(v.taken)
		}
		clear(v.extended)
	case history.TypeOK:
		b.checkGrant(r, i, e, b.votes(a))
	case history.TypeFail:
		b.checkRefusal(r, i, e, b.votes(a))
	}
}

// believed: a client believes, so enough nodes have said yes to it.
func (b *quorumCheck) checkGrant(r *Reader, i int, e *history.Event, v *votes) {
	if e.Token == "" {
		return // the lock does not tell which key is its own
	}
	ballots, did := v.taken, "was granted"
	if e.Op == history.OpExtend {
		ballots, did = v.extended, "extended"
	}
	r.report.Believed++
	said := 0
	if n := ballots[e.Token]; n != nil {
		said = len(n.nodes)
	}
	if said < b.quorum {
		r.report.add(lockFinding(i, e), func() string {
			return fmt.Sprintf("at %s it %s %q with the yes of %d of %d nodes, and the lock says that it needs %d",
				when(e.Time), did, e.Key,
				said, len(r.nodes), b.quorum)
		})
	}
}

// maxReplyDelay is how long an answer may take to a client, in a run without a fault.
const maxReplyDelay = 5_000_000

// denied: a client gives up, so it has not had enough yes in good time. Only where
// nothing disturbed the run is it plain that the answers reached it.
func (b *quorumCheck) checkRefusal(r *Reader, i int, e *history.Event, v *votes) {
	if !b.exact || b.disturbed || e.Reason != history.ReasonHeld && e.Reason != history.ReasonNoMajority {
		return
	}
	ballots := v.taken
	if e.Op == history.OpExtend {
		ballots = v.extended
	}
	for _, token := range slices.Sorted(maps.Keys(ballots)) {
		n := ballots[token]
		if n.won > 0 && n.won+maxReplyDelay < e.Time && n.won-n.first < b.ttl/4 {
			r.report.add(lockFinding(i, e), func() string {
				return fmt.Sprintf("at %s it gave up %q (%s), though %d nodes had said yes to %s by %s", when(e.Time), e.Key, e.Reason,
					len(n.nodes), token, when(n.won))
			})
			return
		}
	}
}

// lockFinding is a finding about what a client said of its lease.
func lockFinding(i int, e *history.Event) Finding {
	return Finding{About: Lock, Time: e.Time, Process: strings.Clone(e.Process), Key: strings.Clone(e.Key), Event: i}
}
