package checker

import "strings"

// numbering gives each string its number; equal strings have one, and "" has 0.
type numbering[N ~uint32] struct {
	numbers map[string]N
	strings []string
}

func numberingOf[N ~uint32](first ...string) numbering[N] {
	n := numbering[N]{numbers: map[string]N{"": 0}, strings: []string{""}}
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
		n.numbers[s], n.strings = number, append(n.strings, s)
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
