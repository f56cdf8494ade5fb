package cluster

import (
	"fmt"
	"slices"

	"example.org/lockproof/internal/wording"
)

// Ability is a set of methods of nodes that some faults and settings need and some kinds of cluster lack.
type Ability struct {
	words string // completes "needs ..."
	has   func(Node) bool
}

// NewAbility makes the ability of nodes of type T; Node is for one that only some machines lack (Kind.Lacks). words
// complete "needs ...".
func NewAbility[T Node](words string) *Ability {
	return &Ability{words, func(n Node) bool { _, is := n.(T); return is }}
}

func (a *Ability) String() string { return a.words }

// The abilities that several faults or packages use. Any other is declared with its fault.
var (
	AbilityPowerLoss = NewAbility[Node]("a disk that loses what was not synced")
	AbilityClock     = NewAbility[Node]("servers whose clocks can be set")
	AbilityServer    = NewAbility[Server]("real Redis servers")
	AbilityDisk      = NewAbility[Server]("a disk that can stall, fail and be full")
)

// Can returns nil if clusters of the kind have an ability, else an *Unsupported that names the kinds with the ability.
func (k Kind) Can(a *Ability) error {
	if a.has(k.Node) {
		if k.Lacks == nil {
			return nil
		}
		return k.Lacks(a)
	}
	lack := &Unsupported{Cluster: k.Name, Needs: a}
	var others []string
	for _, name := range Names() {
		if slices.ContainsFunc(Kinds, func(k Kind) bool { return k.Name == name && a.has(k.Node) }) {
			others = append(others, name)
		}
	}
	switch {
	case len(others) == 1:
		lack.How = others[0] + " does"
	case len(others) > 1:
		lack.How = wording.List(others) + " do"
	}
	return lack
}

// Unsupported is the error of a cluster without a feature or an ability, with the reason and the remedy.
type Unsupported struct {
	Cluster, Fault string
	Needs          *Ability // instead of Fault
	Why, How       string   // "": omitted from the message
}

// Unusable is the error of a machine that cannot run any cluster of a kind, with the reason and the remedy.
func Unusable(kind, why, how string) error {
	return &Unsupported{Cluster: kind, Fault: "any run", Why: why, How: how}
}

func (u *Unsupported) Error() string {
	s := fmt.Sprintf("the %s cluster cannot do %s", u.Cluster, u.Fault)
	if u.Needs != nil {
		s = fmt.Sprintf("needs %s, which the %s cluster does not have", u.Needs, u.Cluster)
	}
	sign := ": "
	for _, more := range []string{u.Why, u.How} {
		if more != "" {
			s += sign + more
			sign = "; "
		}
	}
	return s
}
