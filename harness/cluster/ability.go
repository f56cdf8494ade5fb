package cluster

import (
	"fmt"
	"slices"

	"example.org/lockproof/internal/wording"
)

// Ability is what some faults and settings need and not every kind of cluster has: methods
// of its nodes.
type Ability struct {
	words string // that go after "needs"
	has   func(Node) bool
}

// NewAbility is that of nodes which are a T, in words that go after "needs".
func NewAbility[T Node](words string) *Ability {
	return &Ability{words, func(n Node) bool { _, is := n.(T); return is }}
}

func (a *Ability) String() string { return a.words }

// The abilities that more than one fault or room speaks of. Any other stands with its fault.
var (
	AbilityPowerLoss = NewAbility[PowerLosing]("a disk that loses what was not synced")
	AbilityClock     = NewAbility[Clocked]("servers whose clocks can be set")
	AbilityServer    = NewAbility[Server]("real Redis servers")
	AbilityDisk      = NewAbility[Server]("a disk that can stall, fail and be full")
)

// Can says whether clusters of the kind have an ability: nil, or an *Unsupported that names the kinds which do.
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

// Unsupported says that a cluster cannot do something, or has not an ability, why, and how to get it.
type Unsupported struct {
	Cluster, Fault string
	Needs          *Ability // in place of Fault
	Why, How       string   // "": nothing is to be said
}

// Unusable says that a machine can have no cluster of a kind, why, and how to get it.
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
