package checker

import (
	"fmt"
	"html"
	"io"
	"slices"

	"github.com/anishathalye/porcupine"
)

// maxPicturedLeases is how many leases a picture shows at most, around its violation.
const maxPicturedLeases = 40

// Picture writes porcupine's own page on a violation of mutual exclusion: the
// leases of its key as operations of an owned mutex, how far they can be put
// in a legal order, and the faults meanwhile.
func (h *History) Picture(v Violation, w io.Writer) error {
	if len(v.Leases) == 0 {
		return fmt.Errorf("the violation of key %q has no leases: only those of mutual exclusion can be drawn", v.Key)
	}
	p := picture{h.analysis.record}
	leases := p.around(v)
	_, info := porcupine.CheckOperationsVerbose(drawnMutexModel, p.drawn(leases), searchLimit)
	info.AddAnnotations(p.annotations(leases))
	return porcupine.Visualize(drawnMutexModel, info, w)
}

// picture draws the leases of a record for porcupine's page.
type picture struct{ *record }

// owner is a lease's identity in a picture.
type owner struct {
	client string
	id     int
}

// mutexCall is an operation of the mutex in a picture: take or give back.
type mutexCall struct {
	owner
	takes bool
}

// drawnMutexModel is ownedMutexModel with owners that have names, and words for
// its operations and states. porcupine's page takes a state's words as HTML, so
// they are escaped here.
var drawnMutexModel = porcupine.Model{
	Init: func() any { return owner{} },
	Step: func(state, input, _ any) (bool, any) {
		held, op := state.(owner), input.(mutexCall)
		if op.takes {
			return held == owner{}, op.owner
		}
		return held == op.owner, owner{}
	},
	DescribeOperation: func(input, _ any) string {
		op := input.(mutexCall)
		if op.takes {
			return op.client + " takes the lock"
		}
		return op.client + " gives it back"
	},
	DescribeState: func(state any) string {
		if held := state.(owner); held != (owner{}) {
			return html.EscapeString(fmt.Sprintf("held by %s, lease %d", held.client, held.id))
		}
		return "free"
	},
}

// around gives the leases of a violation's key that are nearest to it.
func (p picture) around(v Violation) []Lease {
	leases := p.of(v.Key).leases
	at := slices.IndexFunc(leases, func(l lease) bool { return l.from >= v.From })
	first := max(0, max(at, 0)-maxPicturedLeases/2)
	var drawn []Lease
	for _, l := range leases[first:min(len(leases), first+maxPicturedLeases)] {
		drawn = append(drawn, p.lease(l))
	}
	return drawn
}

// drawn makes operations of leases, as the second oracle does, but in true
// times: a lease is given back in the last nanosecond before its end.
func (p picture) drawn(leases []Lease) []porcupine.Operation {
	var operations []porcupine.Operation
	for _, l := range leases {
		o := owner{l.Client, l.ID}
		client := max(0, slices.Index(p.header.Clients, l.Client))
		given := max(l.Until-1, l.From)
		operations = append(operations,
			porcupine.Operation{ClientId: client, Input: mutexCall{o, true}, Call: l.From, Return: l.From},
			porcupine.Operation{ClientId: client, Input: mutexCall{o, false}, Call: given, Return: given})
	}
	return operations
}

// annotations are the faults during the leases that are drawn.
func (p picture) annotations(leases []Lease) []porcupine.Annotation {
	var drawn span
	if len(leases) > 0 {
		drawn.from = leases[0].Asked
	}
	for _, l := range leases {
		drawn.until = max(drawn.until, l.Until)
	}
	var notes []porcupine.Annotation
	for _, f := range p.faults {
		if f.cause.Background || f.from > drawn.until || f.until < drawn.from {
			continue
		}
		notes = append(notes, porcupine.Annotation{
			Tag: f.target, Start: f.from, End: min(f.until, drawn.until), Description: f.cause.Kind, Details: f.describe(),
			TextColor: "#000000", BackgroundColor: "#ffd9a8",
		})
	}
	return notes
}
