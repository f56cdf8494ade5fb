package traffic

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	// pieceSize is from how many operations on a register's history is cut.
	pieceSize = 64
	// mostOperations is how many are kept where nothing allows a cut, as commands that
	// were never answered may be carried out at any time.
	mostOperations = 2048
	// searchLimit is how many steps porcupine may try for one piece, and all of its
	// searches in one history together: pieces have an order as a rule, and it is found at
	// once. Steps are counted, not time, so that every machine judges alike.
	searchLimit, searchesLimit = 50_000, 500_000
	// maxEventDelay is after how long no event comes any more that says something of now, in
	// real time: an engine tells late of a server that died.
	maxEventDelay = int64(5 * time.Second)
)

// register is one key on one node, with the operations on it that have not been
// judged, in the order of their calls.
type register struct {
	node *node
	key  string
	ops  []*op
	// next is at how many operations to look for a cut again.
	next int
}

func (g *register) add(r *Reader, o *op) {
	after := len(g.ops)
	for after > 0 && g.ops[after-1].call > o.call { // what takes a while is recorded late
		after--
	}
	g.ops = slices.Insert(g.ops, after, o)
	o.from, o.until = g.node.clock.readings(o.call, o.call)
	if len(g.ops) >= max(g.next, pieceSize) {
		g.cut(r)
	}
}

// end says when an operation was over at the latest.
func (g *register) end(o *op, t int64) {
	o.ret = t
	o.from, o.until = g.node.clock.readings(o.call, t)
}

// abandon ends the commands that a server took with it as it died.
func (g *register) abandon(t int64) {
	for _, o := range g.ops {
		if o.ret == never {
			g.end(o, t)
		}
	}
}

// cut judges the operations up to the last one that settles what the register holds
// while no other is under way: it ends a piece and begins the next.
func (g *register) cut(r *Reader) {
	g.next = len(g.ops) + pieceSize/2
	if last := g.lastCut(r); last > 0 {
		g.judge(r, g.ops[:last+1])
		g.ops = slices.Clone(g.ops[last:])
		g.next = len(g.ops) + pieceSize
	}
	if len(g.ops) > mostOperations {
		r.report.Unjudged += len(g.ops)
		g.ops = nil // what comes next meets a register of which nothing is known
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

// judge looks for an order of a piece that a register allows.
func (g *register) judge(r *Reader, piece []*op) {
	if len(piece) == 0 {
		return
	}
	r.report.Judged += len(piece)
	strict := registerModel{clock: &g.node.clock, slack: r.slack, left: &r.searching}
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

// linearizable asks porcupine whether a piece is linearizable.
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
				return nil // nothing leads on: the search comes to its end
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

// sequential: each operation was over before the next was called, so there is one order.
func sequential(piece []*op) bool {
	for i, o := range piece[1:] {
		if o.call <= piece[i].ret {
			return false
		}
	}
	return true
}

// replay steps through the only order that there is.
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

// firstImpossible gives the operation by which a piece has no order any more.
func (j registerModel) firstImpossible(piece []*op) *op {
	n := sort.Search(len(piece), func(n int) bool { return j.linearizable(piece[:n]) == porcupine.Illegal })
	return piece[min(max(n, 1), len(piece))-1]
}

func (g *register) describe(about About, piece []*op, at *op) string {
	before := "nothing"
	if i := slices.Index(piece, at); i > 0 {
		before = fmt.Sprintf("%s (%s, at %s)", piece[i-1], piece[i-1].process, when(piece[i-1].call))
	}
	told := fmt.Sprintf("at %s, %s (%s) on %q at %s fits no order of what reached the node; before it: %s", when(at.call),
		at, at.process, g.key, g.node.name, before)
	if about == Lock {
		return told + "; a script of the lock does not ask first whose the key is"
	}
	return told
}

// scriptCaveat is what else may be behind a finding about the cluster. A lock that says nothing
// of itself may have scripts that we do not see through: faults that are to meet its
// releases may then have met something else, so what holds is in doubt all the same.
func (r *Reader) scriptCaveat(about About, g *register) string {
	if about == Cluster && r.header.Quorum == 0 && g.node != r.store {
		return "; or the lock has a script that does more than its calls and arguments tell"
	}
	return ""
}

// when writes a point of the true clock: "1.203 s".
func when(t int64) string { return fmt.Sprintf("%.3f s", float64(t)/1e9) }
