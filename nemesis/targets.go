package nemesis

import "strings"

// Targets are the possible targets of a fault, or of another step of a script.
type Targets uint8

// The kinds of targets.
const (
	Clients  Targets = 1 << iota // of the script: c1
	Loops                        // clients of the workload: w1
	Nodes                        // n3
	Replicas                     // r1; Nodes includes them
	Links                        // c1-n3, c1-store, and wildcards: "c1-*", "*-n3"
)

// String lists the kinds, for errors and documents: "clients or nodes".
func (t Targets) String() string {
	var words []string
	for _, kind := range []struct {
		bit  Targets
		word string
	}{{Clients, "clients"}, {Nodes, "nodes"}, {Replicas, "replicas"}, {Links, "links"}} {
		if t&kind.bit != 0 {
			words = append(words, kind.word)
		}
	}
	return strings.Join(words, " or ")
}

// Accepts reports whether a kind is among the targets.
func (t Targets) Accepts(kind Targets) bool { return t&kind != 0 || kind == Replicas && t&Nodes != 0 }
