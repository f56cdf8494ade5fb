package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// searchLimit is how long porcupine may think about one piece of a history. The
// pieces are small; it is a safety net, and running into it is inconclusive.
const searchLimit = 10 * time.Second

// pieceSize is from how many operations on a piece ends at the next quiescent
// point. porcupine keeps a set of the operations done for each step, so its
// cost grows with the square of a piece.
const pieceSize = 64

// mutexOp is an operation of the owned-mutex model: a lease is taken or given back.
// It stands for the number of the lease in its piece, twice, plus 1 to give it
// back. A number below 256 is an interface value that Go need not allocate.
type mutexOp uint64

func lockOp(lease int) mutexOp   { return mutexOp(2 * lease) }
func unlockOp(lease int) mutexOp { return mutexOp(2*lease + 1) }

// free is the state of a mutex that nobody owns; else it is the mutexOp that gives
// it back.
const free = mutexOp(0)

// ownedMutexModel is a mutex that knows its owner: it can be taken when it is
// free, and given back by its owner only.
var ownedMutexModel = porcupine.Model{
	Init: func() any { return free },
	Step: func(state, input, _ any) (bool, any) {
		owner, op := state.(mutexOp), input.(mutexOp)
		if op%2 == 0 {
			return owner == free, op + 1
		}
		return owner == op, free
	},
}

// ownedMutexOracle is the second oracle for mutual exclusion, on one key's leases in the order of from.
//
// A lease is two operations, and each is a point: the lease is taken exactly
// at From and given back exactly at Until. One might let the taking stretch
// from the invoke to From, and the giving back from Until to the end of the
// history, as far as the client could tell. The answer would be the same: the
// taking must be over by From and the giving back cannot come before Until, so
// two overlapping leases leave no legal order, and leases that do not overlap
// have one. But points leave porcupine nothing to search, and no operation is
// ever open at a quiescent point.
//
// porcupine's intervals are closed, so [a, b) and [b, c) would meet at b. Times
// are doubled, and a lease is given back at 2*Until-1: after everything before
// Until, and before all that happens at Until.
func ownedMutexOracle(leases []lease) porcupine.CheckResult {
	var piece []porcupine.Operation
	var latest int64
	for i := range leases {
		l := &leases[i]
		if l.until <= l.from {
			continue
		}
		if l.from >= latest && len(piece) >= pieceSize {
			if answer := judge(ownedMutexModel, piece); answer != porcupine.Ok {
				return answer
			}
			piece = piece[:0]
		}
		latest = max(latest, l.until)
		number := len(piece) / 2
		taken, given := 2*l.from, 2*l.until-1
		piece = append(piece,
			porcupine.Operation{Input: lockOp(number), Call: taken, Return: taken},
			porcupine.Operation{Input: unlockOp(number), Call: given, Return: given})
	}
	return judge(ownedMutexModel, piece)
}

func judge(model porcupine.Model, piece []porcupine.Operation) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(model, piece, searchLimit)
}

// derivedRegisterModel is a register whose writes are derived from what they
// overwrite: a write of Value is legal if the register holds its Base, a read
// if it holds what was read. It begins with the version `initial`.
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

// derivedRegisterOracle is the second oracle for the store, on one key's accesses. At a quiescent point of a legal
// piece the register holds the one version that no write of the piece was derived from.
func derivedRegisterOracle(accesses []access) porcupine.CheckResult {
	var piece []porcupine.Operation
	var latest int64
	state := ""
	byCall := func(a, b access) int { return cmp.Compare(a.call, b.call) }
	for _, a := range slices.SortedStableFunc(slices.Values(accesses), byCall) {
		if a.call > latest && len(piece) >= pieceSize {
			if answer := judge(derivedRegisterModel(state), piece); answer != porcupine.Ok {
				return answer
			}
			state = outcome(state, piece)
			piece = piece[:0]
		}
		latest = max(latest, a.ret)
		piece = append(piece, porcupine.Operation{Input: a, Call: a.call, Return: a.ret})
	}
	return judge(derivedRegisterModel(state), piece)
}

// outcome follows the chain of a legal piece's writes to its last version.
func outcome(state string, piece []porcupine.Operation) string {
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
