package checker

import (
	"hash/maphash"
	"strings"
)

// numbering gives each string its number; equal strings have one, and "" has 0.
// A long history has a token or two for each lease: the strings lie end to end in
// a few blocks, and a table finds their numbers, which takes half the memory of a
// map and leaves the garbage collector next to nothing to follow.
type numbering[N ~uint32] struct {
	table  []N // open addressing with linear probing; 0 is a free place
	places []stretch
	blocks []*strings.Builder // never beyond their capacity, so that their bytes stay where they are
}

// stretch is where a string lies.
type stretch struct{ block, from, until uint32 }

// seed is of all numberings: what a string hashes to shows nowhere.
var seed = maphash.MakeSeed()

// The table and the first block are small, since most histories are short and
// there are thousands of them.
const (
	firstTable = 64
	firstText  = 1 << 10
)

func numberingOf[N ~uint32](first ...string) numbering[N] {
	n := numbering[N]{table: make([]N, firstTable), places: make([]stretch, 1, firstTable/2)}
	for _, s := range first {
		n.of(s)
	}
	return n
}

// of gives a string's number, a new one if it has none.
func (n *numbering[N]) of(s string) N {
	if s == "" {
		return 0
	}
	i := n.slot(s)
	if n.table[i] == 0 {
		number := N(len(n.places))
		n.places = append(n.places, n.keep(s))
		n.table[i] = number
		if 2*len(n.places) > len(n.table) {
			n.grow()
		}
		return number
	}
	return n.table[i]
}

// find gives a string's number, or one that no string has.
func (n *numbering[N]) find(s string) N {
	if s == "" {
		return 0
	}
	if number := n.table[n.slot(s)]; number != 0 {
		return number
	}
	return N(len(n.places))
}

// string gives the string of a number.
func (n *numbering[N]) string(number N) string {
	if number == 0 {
		return ""
	}
	at := n.places[number]
	return n.blocks[at.block].String()[at.from:at.until]
}

// slot gives a string's place in the table, or the free one where it belongs.
func (n *numbering[N]) slot(s string) int {
	last := len(n.table) - 1 // a power of two, less one
	i := int(maphash.String(seed, s)) & last
	for n.table[i] != 0 && n.string(n.table[i]) != s {
		i = (i + 1) & last
	}
	return i
}

// grow doubles the table.
func (n *numbering[N]) grow() {
	n.table = make([]N, 2*len(n.table))
	for number := 1; number < len(n.places); number++ {
		n.table[n.slot(n.string(N(number)))] = N(number)
	}
}

// keep copies a string: it may be part of a line, which can be forgotten then.
func (n *numbering[N]) keep(s string) stretch {
	last := len(n.blocks) - 1
	if last < 0 || n.blocks[last].Cap()-n.blocks[last].Len() < len(s) {
		block := &strings.Builder{}
		block.Grow(max(len(s), firstText<<min(len(n.blocks), 8)))
		n.blocks = append(n.blocks, block)
		last++
	}
	block := n.blocks[last]
	from := block.Len()
	block.WriteString(s)
	return stretch{uint32(last), uint32(from), uint32(block.Len())}
}
