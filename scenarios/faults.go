package scenarios

import (
	"slices"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
)

// Fault gives the declaration of what the step does, nil if that is no fault.
func (s Step) Fault() *nemesis.Declaration { return nemesis.Find(string(s.Verb)) }

// HasClass reports whether the step is a fault that does something of a class.
func (s Step) HasClass(class history.Class) bool {
	fault := s.Fault()
	return fault != nil && fault.HasClass(class)
}

// Breaks reports whether the scenario has a fault that breaks something.
func (s *Scenario) Breaks() bool {
	return len(s.Nemesis) > 0 || slices.ContainsFunc(s.Script, func(step Step) bool {
		fault := step.Fault()
		return fault != nil && fault.Breaks()
	})
}

// Requirements lists what the scenario's faults and replicas ask of a cluster, as
// cluster.Kind.Can takes it.
func (s *Scenario) Requirements() []string {
	var asks []string
	if len(s.Replicas) > 0 {
		asks = append(asks, "replicas")
	}
	if s.Sentinels > 0 {
		asks = append(asks, "sentinels")
	}
	if s.RedisCluster != nil {
		asks = append(asks, "redis-cluster")
	}
	for _, step := range s.Script {
		if fault := step.Fault(); fault != nil && fault.Breaks() {
			asks = append(asks, fault.Requirements(step.Targets, s.Servers())...)
		}
	}
	for _, r := range s.Nemesis {
		if fault := nemesis.Find(string(r.Fault)); fault != nil {
			asks = append(asks, fault.Requirements(r.Candidates, s.Servers())...)
		}
	}
	return asks
}
