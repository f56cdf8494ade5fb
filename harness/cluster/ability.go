package cluster

import (
	"fmt"
	"slices"

	"example.org/lockproof/internal/wording"
)

// Ability is what some faults and settings need and not every kind of cluster has, in words that go after "needs".
type Ability string

// The abilities. All else that stands in Cluster, Node and Link every kind has.
const (
	AbilityPowerLoss Ability = "a disk that loses what was not synced"   // Node.PowerLoss
	AbilityClock     Ability = "servers whose clocks can be set"         // Node.SetClock
	AbilityServer    Ability = "real Redis servers"                      // Server and Real
	AbilityDisk      Ability = "a disk that can stall, fail and be full" // Server.Disturb
	AbilityNetwork   Ability = "nodes in a network of their own"         // Networked
)

// Can says whether clusters of the kind have an ability: nil, or an *Unsupported that names the kinds which do.
func (k Kind) Can(a Ability) error {
	if slices.Contains(k.Has, a) {
		if k.Lacks == nil {
			return nil
		}
		return k.Lacks(a)
	}
	lack := &Unsupported{Cluster: k.Name, Needs: a}
	var others []string
	for _, name := range Names() {
		if slices.ContainsFunc(Kinds, func(k Kind) bool { return k.Name == name && slices.Contains(k.Has, a) }) {
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
	Needs          Ability // in place of Fault
	Why, How       string  // "": nothing is to be said
}

func (u *Unsupported) Error() string {
	s := fmt.Sprintf("the %s cluster cannot do %s", u.Cluster, u.Fault)
	if u.Needs != "" {
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
