package checker

import (
	"strings"

	"lockproof/harness/history"
)

// name stands for a process, a key or an operation's word; of these a history
// has few. text stands for a token or a version, of which every lease has one.
// 0 is the empty string. What is kept of each event holds such numbers: they
// are small, and the garbage collector need not follow them.
type (
	name uint32
	text uint32
)

// nobody is the name of no process.
const nobody name = 0

// initial is the version that a register begins with.
const initial text = 0

// The words of the operations are the first names of every history, in this
// order.
const (
	opAcquire name = iota + 1
	opRelease
	opExtend
	opCheck
	opRead
	opWrite
)

func newNames() numbering[name] {
	return numberingOf[name](string(history.OpAcquire), string(history.OpRelease), string(history.OpExtend),
		string(history.OpCheck), string(history.OpRead), string(history.OpWrite))
}

// numbering gives each string its number; equal strings have one.
type numbering[N ~uint32] struct {
	numbers map[string]N
	strings []string
}

func numberingOf[N ~uint32](first ...string) numbering[N] {
	n := numbering[N]{numbers: map[string]N{}}
	n.of("")
	for _, s := range first {
		n.of(s)
	}
	return n
}

// of gives a string's number, a new one if it has none.
func (n *numbering[N]) of(s string) N {
	number, known := n.numbers[s]
	if !known {
		s = strings.Clone(s) // it may be part of a line, which can be forgotten then
		number = N(len(n.strings))
		n.numbers[s] = number
		n.strings = append(n.strings, s)
	}
	return number
}

// find gives a string's number, or one that no string has.
func (n *numbering[N]) find(s string) N {
	if number, known := n.numbers[s]; known {
		return number
	}
	return N(len(n.strings))
}

// string gives the string of a number.
func (n *numbering[N]) string(number N) string { return n.strings[number] }
