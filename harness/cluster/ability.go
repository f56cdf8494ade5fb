package cluster

import (
	"fmt"
	"slices"

	"example.org/lockproof/internal/wording"
)

// Ability is what some faults and settings need and not every kind of cluster has, in words that go after "needs". All
// that stands in Cluster, Node and Link every kind has, but for the first two.
type Ability string

// The abilities: two methods of Node, and what the other interfaces of this package are about.
const (
	AbilityPowerLoss    Ability = "a disk that loses what was not synced"   // Node.PowerLoss
	AbilityClock        Ability = "servers whose clocks can be set"         // Node.SetClock
	AbilityDisk         Ability = "a disk that can stall, fail and be full" // Disk
	AbilityServer       Ability = "real Redis servers"                      // Server
	AbilityScript       Ability = "servers that a script can keep busy"     // Scripted
	AbilityNetwork      Ability = "nodes in a network of their own"         // Networked
	AbilitySupervisor   Ability = "a supervisor"                            // Supervised
	AbilityReplica      Ability = "replication"                             // Replica
	AbilitySentinels    Ability = "Sentinels"                               // Sentinels
	AbilityRedisCluster Ability = "a Redis Cluster"                         // RedisCluster
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
