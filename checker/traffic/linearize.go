package traffic

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	// pieceSize is the number of operations after which a register's history is cut.
	pieceSize = 64
	// mostOperations limits the operations that are kept if no cut is possible: commands without a reply may be
	// executed at any time.
	mostOperations = 2048
	// searchLimit limits porcupine's steps for one piece, searchesLimit those of all its searches in one history. Most
	// pieces have an order, which is found at once. Steps are counted, not time, so that every machine gives the same
	// verdict.
	searchLimit, searchesLimit = 50_000, 500_000
	// maxEventDelay is how late an event may be recorded in real time: an engine reports the death of a server late.
	maxEventDelay = int64(5 * time.Second)
)

// register is one key on one node, with the operations on it that are not judged yet, ordered by call.
type register struct {
	node *node
	key  string
	ops  []*op
	// next is the number of operations at which a cut is tried again.
	next int
}

func (g *register) add(r *Reader, o *op) {
	after := len(g.ops)
	for after > 0 && g.ops[after-1].call > o.call { // operations with a duration are recorded late
		after--
	}
	g.ops = slices.Insert(g.ops, after, o)
	o.register = g
	o.from, o.until = g.node.clock.readings(o.call, o.call)
	if len(g.ops) >= max(g.next, pieceSize) {
		g.cut(r)
	}
}

// end sets the latest end of an operation.
func (o *op) end(t int64) {
	o.ret = t
	o.from, o.until = o.register.node.clock.readings(o.call, t)
}

// abandon ends the commands under way at a server that died.
func (g *register) abandon(t int64) {
	for _, o := range g.ops {
		if o.ret == never {
			o.end(t)
		}
	}
}

// cut judges the operations up to the last one that settles the register's state while no other is under way. That one
// ends a piece and begins the next.
func (g *register) cut(r *Reader) {
	g.next = len(g.ops) + pieceSize/2
	if last := g.lastCut(r); last > 0 {
		g.judge(r, g.ops[:last+1])
		g.ops = slices.Clone(g.ops[last:])
		g.next = len(g.ops) + pieceSize
	}
	if len(g.ops) > mostOperations {
		r.report.Unjudged += len(g.ops)
		g.ops = nil // the next operation meets an unknown register
	}
}

func (g *register) lastCut(r *Reader) int {
	until := r.now
	if r.header.RealTime {
		until -= maxEventDelay
	}
	cut, latest := 0, int64(-1)              // the latest end before an operation
	for i, o := range g.ops[:len(g.ops)-1] { // the last has only begun
		alone := o.call > latest && g.ops[i+1].call > o.ret
		if alone && o.settles() && o.ret < until {
			cut = i
		}
		latest = max(latest, o.ret)
	}
	return cut
}

func (g *register) finish(r *Reader) {
	g.judge(r, g.ops)
	g.ops = nil
}

// judge looks for an order of a piece that a register allows. Without one, a finding is about the cluster. If there is
// one only if scripts compare nothing first, the finding is about the lock.
func (g *register) judge(r *Reader, piece []*op) {
	if len(piece) == 0 {
		return
	}
	r.report.Judged += len(piece)
	strict := registerModel{clock: &g.node.clock, slack: r.slack, left: &r.searchSteps}
	switch strict.linearizable(piece) {
	case porcupine.Ok:
		return
	case porcupine.Unknown:
		r.report.Judged -= len(piece)
		r.report.Unjudged += len(piece)
		return
	}
	lenient := strict
	lenient.lenient = true
	about, judge := Cluster, lenient
	if lenient.linearizable(piece) == porcupine.Ok {
		about, judge = Lock, strict
	}
	at := judge.firstImpossible(piece)
	r.report.add(Finding{About: about, Time: at.call, Process: g.node.name, Key: g.key, Event: at.event,
		What: g.describe(about, piece, at) + r.scriptCaveat(about, g)})
}

// linearizable decides whether a piece is linearizable, with porcupine if more than one order is possible.
func (j registerModel) linearizable(piece []*op) porcupine.CheckResult {
	if sequential(piece) {
		return j.replay(piece)
	}
	steps := min(searchLimit, *j.left)
	if steps <= 0 {
		return porcupine.Unknown
	}
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{}} },
		Step: func(s, o, _ any) []any {
			if steps, *j.left = steps-1, *j.left-1; steps < 0 {
				return nil // no successor: the search ends
			}
			var next []any
			for _, n := range j.successors(s.(state), o.(*op)) {
				next = append(next, n)
			}
			return next
		},
	}
	operations := make([]porcupine.Operation, len(piece))
	for i, o := range piece {
		operations[i] = porcupine.Operation{Input: o, Call: o.call, Return: o.ret}
	}
	found := porcupine.CheckOperationsTimeout(model.ToModel(), operations, 0)
	if found != porcupine.Ok && steps < 0 {
		return porcupine.Unknown
	}
	return found
}

// sequential reports whether each operation ended before the next was called, so that there is only one order.
func sequential(piece []*op) bool {
	for i, o := range piece[1:] {
		if o.call <= piece[i].ret {
			return false
		}
	}
	return true
}

// replay steps through the only possible order.
func (j registerModel) replay(piece []*op) porcupine.CheckResult {
	states := []state{{}}
	for _, o := range piece {
		var next []state
		for _, s := range states {
			for _, n := range j.successors(s, o) {
				if !slices.Contains(next, n) {
					next = append(next, n)
				}
			}
		}
		if states = next; len(states) == 0 {
			return porcupine.Illegal
		}
	}
	return porcupine.Ok
}

// firstImpossible returns the operation with which a piece first has no order.
func (j registerModel) firstImpossible(piece []*op) *op {
	n := sort.Search(len(piece), func(n int) bool { return j.linearizable(piece[:n]) == porcupine.Illegal })
	return piece[min(max(n, 1), len(piece))-1]
}

func (g *register) describe(about About, piece []*op, at *op) string {
	before := "nothing"
	if i := slices.Index(piece, at); i > 0 {
		before = fmt.Sprintf("%s (%s, at %s)", piece[i-1], piece[i-1].process, formatTime(piece[i-1].call))
	}
	sentence := fmt.Sprintf("at %s, %s (%s) on %q at %s: no order of the commands that reached the node explains "+
		"it; before it: %s",
		formatTime(at.call), at, at.process, g.key, g.node.name, before)
	if about == Lock {
		return sentence + "; a script of the lock does not check the key's owner first"
	}
	return sentence
}

// scriptCaveat is another possible explanation of a finding about the cluster. A lock that does not declare its quorum
// may have scripts that we misread. Faults meant for its releases may then have affected other commands, so a "holds"
// is in doubt all the same.
func (r *Reader) scriptCaveat(about About, g *register) string {
	if about == Cluster && r.header.Quorum == 0 && g.node != r.store {
		return "; or a script of the lock does more than its calls and arguments show"
	}
	return ""
}

// formatTime formats a time of the true clock: "1.203 s".
func formatTime(t int64) string { return fmt.Sprintf("%.3f s", float64(t)/1e9) }
