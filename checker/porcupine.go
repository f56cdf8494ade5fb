package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// searchLimit is how long porcupine may search one piece of a history. The pieces are small, so it is a safety net. If
// it is reached, the property is inconclusive.
const searchLimit = 10 * time.Second

// pieceSize is the number of operations after which a piece ends at the next quiescent point. porcupine keeps a set of
// the operations done for each step, so its cost grows with the square of a piece.
const pieceSize = 64

// inPieces lets porcupine judge operations by a model whose state at a quiescent point is known: after returns the
// state after a legal piece from the state before it.
func inPieces[S any](all []porcupine.Operation, state S, model func(S) porcupine.Model,
	after func(S, []porcupine.Operation) S) porcupine.CheckResult {
	slices.SortStableFunc(all, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var latest int64
	from := 0
	for i, o := range all {
		if o.Call > latest && i-from >= pieceSize {
			piece := all[from:i]
			if answer := porcupine.CheckOperationsTimeout(model(state), piece, searchLimit); answer != porcupine.Ok {
				return answer
			}
			state, from = after(state, piece), i
		}
		latest = max(latest, o.Return)
	}
	return porcupine.CheckOperationsTimeout(model(state), all[from:], searchLimit)
}

// mutexOp is an operation of the owned-mutex model: a lease, by its number from 1, is acquired or released.
type mutexOp struct {
	lease    int
	released bool
}

// ownedMutexModel is a mutex that knows its owner, 0 if it has none. It can be acquired only when it is free, and
// released only by its owner.
func ownedMutexModel(owner int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return owner },
		Step: func(state, input, _ any) (bool, any) {
			owner, op := state.(int), input.(mutexOp)
			if op.released {
				return owner == op.lease, 0
			}
			return owner == 0, op.lease
		},
	}
}

// ownedMutexOracle is the second oracle for mutual exclusion, on one key's leases.
//
// A lease is two operations, each at one point: it is acquired exactly at From and released exactly at Until. The
// acquire could also extend from the invoke to From, and the release from Until to the end of the history: that is all
// the client knows. The verdict would be the same. The acquire must be over by From and the release cannot come before
// Until, so two overlapping leases leave no legal order, and leases that do not overlap have one. But points leave
// porcupine nothing to search.
//
// porcupine's intervals are closed, so [a, b) and [b, c) would share b. Times are doubled, and a lease is released at
// 2*Until-1: after everything before Until, and before everything at Until.
func ownedMutexOracle(leases []lease) porcupine.CheckResult {
	var all []porcupine.Operation
	for i, l := range leases {
		if l.until <= l.from {
			continue
		}
		acquired, released := 2*l.from, 2*l.until-1
		all = append(all,
			porcupine.Operation{Input: mutexOp{i + 1, false}, Call: acquired, Return: acquired},
			porcupine.Operation{Input: mutexOp{i + 1, true}, Call: released, Return: released})
	}
	return inPieces(all, 0, ownedMutexModel, ownerAfter)
}

// ownerAfter returns the owner of the mutex after a legal piece.
func ownerAfter(_ int, piece []porcupine.Operation) int {
	if last := piece[len(piece)-1].Input.(mutexOp); !last.released {
		return last.lease
	}
	return 0
}

// derivedRegisterModel is a register whose writes are derived from the version that they replace: a write of Value is
// legal if the register holds its Base, a read if it holds what was read. It begins with the version `initial`. An
// unseen write only reads its base.
func derivedRegisterModel(initial string) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return initial },
		Step: func(state, input, _ any) (bool, any) {
			op := input.(access)
			if op.unseen {
				return state == op.base, state
			}
			if op.write {
				return state == op.base, op.value
			}
			return state == op.value, state
		},
	}
}

// derivedRegisterOracle is the second oracle for the store, on one key's accesses.
func derivedRegisterOracle(accesses []access) porcupine.CheckResult {
	all := make([]porcupine.Operation, len(accesses))
	for i, a := range accesses {
		all[i] = porcupine.Operation{Input: a, Call: a.call, Return: a.ret}
	}
	return inPieces(all, "", derivedRegisterModel, versionAfter)
}

// versionAfter follows the chain of a legal piece's writes to its last version: the register then holds the one
// version that no write of the piece was derived from.
func versionAfter(state string, piece []porcupine.Operation) string {
	next := map[string]string{}
	for _, op := range piece {
		if a := op.Input.(access); a.write && !a.unseen {
			next[a.base] = a.value
		}
	}
	for range next {
		state = next[state]
	}
	return state
}
