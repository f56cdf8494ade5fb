package redlock

import "errors"

// answer is one node's vote with, for no and failed, its cause.
type answer struct {
	node int
	vote vote
	err  error
}

// ballot counts the answers to one poll.
type ballot struct {
	need     int      // so many must say yes
	majority int      // so many that say no are believed
	votes    []answer // by node; the zero vote is pending
	counts   [failed + 1]int
	refusal  error              // a node's answer that no other can outvote
	enough   func(*ballot) bool // whether no further answer matters
}

// newBallot makes a ballot that is won with so many votes, and settled when
// enough says so. Without the rule NodeTimeout every node is heard out.
func (r *Redlock) newBallot(need int, enough func(*ballot) bool) ballot {
	b := ballot{need: need, majority: r.need, votes: make([]answer, len(r.nodes)), enough: enough}
	b.counts[pending] = len(r.nodes)
	if !r.on(NodeTimeout) {
		b.enough = (*ballot).complete
	}
	return b
}

func (b *ballot) count(a answer) {
	b.votes[a.node] = a
	b.counts[pending]--
	b.counts[a.vote]++
	if errors.Is(a.err, ErrDuplicateNode) {
		b.refusal = a.err
	}
}

// giveUp counts the nodes that have not answered as failed, for this cause.
func (b *ballot) giveUp(cause error) {
	for i, v := range b.votes {
		if v.vote == pending {
			b.count(answer{i, failed, cause})
		}
	}
}

// can reports whether n of this vote may still come together.
func (b *ballot) can(v vote, n int) bool { return b.counts[v]+b.counts[pending] >= n }

// granted reports whether enough nodes said yes.
func (b *ballot) granted() bool { return b.counts[yes] >= b.need }

// decided reports whether it is known that enough nodes say yes, or that they
// cannot any more.
func (b *ballot) decided() bool { return b.granted() || !b.can(yes, b.need) }

// complete reports whether all nodes have answered.
func (b *ballot) complete() bool { return b.counts[pending] == 0 }

// agreed reports whether it is known what enough nodes say, yes or no, or that
// it cannot be known any more.
func (b *ballot) agreed() bool {
	return b.granted() || b.counts[no] >= b.majority || !b.can(yes, b.need) && !b.can(no, b.majority)
}

// settled reports whether the outcome is known.
func (b *ballot) settled() bool { return b.refusal != nil || b.enough(b) }

// failure is the ballot as an error.
func (r *Redlock) failure(op string, l *Lease, b *ballot, reason, ended error) *AttemptError {
	e := &AttemptError{Op: op, Key: l.key, Need: b.need, Got: b.counts[yes], Reason: reason, Ended: ended}
	for i, v := range b.votes {
		if v.vote == no || v.vote == failed {
			e.Nodes = append(e.Nodes, NodeError{Node: i, Addr: r.nodes[i].addr, Err: v.err})
		}
	}
	return e
}
