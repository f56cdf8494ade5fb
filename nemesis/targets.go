package nemesis

import "strings"

// Targets says what a fault can be aimed at, or another step of a script.
type Targets uint8

// The kinds of targets.
const (
	Clients  Targets = 1 << iota // of the script: c1
	Loops                        // clients of the workload: w1
	Nodes                        // n3
	Replicas                     // r1; what takes nodes takes them too
	Links                        // c1-n3, c1-store, and wildcards: "c1-*", "*-n3"
)

// String says it in words, for errors and documents: "clients or nodes".
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

// Accepts says whether what takes these can be aimed at one of a kind.
func (t Targets) Accepts(kind Targets) bool { return t&kind != 0 || kind == Replicas && t&Nodes != 0 }
