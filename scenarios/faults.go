package scenarios

import (
	"cmp"
	"slices"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
)

// Fault returns the declaration of the step's fault, nil for other verbs.
func (s Step) Fault() *nemesis.Declaration { return nemesis.Find(string(s.Verb)) }

// HasClass reports whether the step is a fault with an effect of a class.
func (s Step) HasClass(class history.Class) bool {
	fault := s.Fault()
	return fault != nil && fault.HasClass(class)
}

// Breaks reports whether the scenario begins a fault.
func (s *Scenario) Breaks() bool {
	return len(s.Nemesis) > 0 || slices.ContainsFunc(s.Script, func(step Step) bool {
		fault := step.Fault()
		return fault != nil && fault.Breaks()
	})
}

// effects lists the effects of the scenario's faults on each of their targets.
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

// HasClass reports whether a fault has an effect of a class on one of its targets.
func (s *Scenario) HasClass(class history.Class) bool {
	return slices.ContainsFunc(s.effects(), func(e *nemesis.Effect) bool { return e.Class == class })
}

// Needs lists the cluster abilities that the scenario requires.
func (s *Scenario) Needs() []*cluster.Ability {
	var needs []*cluster.Ability
	needsServer := s.Restart == RestartAlways || s.Sentinels > 0 || s.RedisCluster != nil
	for name := range s.Redis {
		needsServer = needsServer || name != cluster.MinReplicas && name != cluster.MinLag // every kind models these two
	}
	if needsServer {
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
