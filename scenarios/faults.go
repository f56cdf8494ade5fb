package scenarios

import (
	"cmp"
	"slices"

	"example.org/lockproof/harness/cluster"
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

// effects lists what the scenario's faults do to each of their targets.
func (s *Scenario) effects() []*nemesis.Effect {
	var effects []*nemesis.Effect
	add := func(verb Verb, targets []string) {
		fault := nemesis.Find(string(verb))
		for _, target := range targets {
			if fault == nil {
				break
			}
			if on := fault.EffectOn(target, s.Servers()); on != nil {
				effects = append(effects, on)
			}
		}
	}
	for _, step := range s.Script {
		add(step.Verb, step.Targets)
	}
	for _, r := range s.Nemesis {
		add(r.Verb, r.Targets)
	}
	return effects
}

// HasClass reports whether a fault does something of a class to one of its targets.
func (s *Scenario) HasClass(class history.Class) bool {
	return slices.ContainsFunc(s.effects(), func(e *nemesis.Effect) bool { return e.Class == class })
}

// Needs lists the abilities that a cluster must have for the scenario.
func (s *Scenario) Needs() []*cluster.Ability {
	var needs []*cluster.Ability
	real := s.Restart == RestartAlways || s.Sentinels > 0 || s.RedisCluster != nil
	for name := range s.Redis {
		real = real || name != cluster.MinReplicas && name != cluster.MinLag // which every kind models
	}
	if real {
		needs = append(needs, cluster.AbilityServer)
	}
	for _, e := range s.effects() {
		if e.Needs != nil {
			needs = append(needs, e.Needs)
		}
	}
	slices.SortFunc(needs, func(a, b *cluster.Ability) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(needs)
}
