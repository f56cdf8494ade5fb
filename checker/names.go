package checker

import "example.org/lockproof/harness/history"

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

// vocabulary holds the strings of a history.
type vocabulary struct {
	names numbering[name]
	texts numbering[text]
}

func newVocabulary() *vocabulary {
	return &vocabulary{
		names: numberingOf[name](string(history.OpAcquire), string(history.OpRelease), string(history.OpExtend),
			string(history.OpCheck), string(history.OpRead), string(history.OpWrite)),
		texts: numberingOf[text](),
	}
}

func (v *vocabulary) name(n name) string { return v.names.string(n) }
func (v *vocabulary) text(t text) string { return v.texts.string(t) }
