package explore

import (
	"cmp"
	"slices"
	"time"

	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

// normalize puts the steps into their order and takes away those that cannot be: nobody
// kills the dead, pauses who is paused, or starts what is up. So every schedule can be
// run, whatever was drawn, changed or taken away.
func (s *Schedule) normalize() {
	slices.SortStableFunc(s.Steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	dead := map[string]bool{}
	busy := map[string]time.Duration{} // a node or client under one of these faults, until then
	asked := map[string]bool{}
	s.Steps = slices.DeleteFunc(s.Steps, func(step Step) bool {
		targets := slices.Clone(step.Targets)
		for i, t := range targets {
			if server, is := s.Aliases[t]; is {
				targets[i] = server
			}
			if dead[t] {
				return true
			}
		}
		switch step.Verb {
		case scenarios.VerbAcquire:
			asked[targets[0]] = true
		case scenarios.VerbExtend, scenarios.VerbRelease, scenarios.VerbWatch, scenarios.VerbWrite,
			scenarios.VerbCheck, scenarios.VerbCancel:
			return !asked[targets[0]]
		case nemesis.Pause, nemesis.Kill, nemesis.PowerLoss, nemesis.Starve, nemesis.Demote:
			return s.processStopped(step, targets[0], dead, busy)
		case nemesis.Clock, nemesis.Flush, nemesis.ScriptFlush, nemesis.DeleteKey:
			// A node that is down or paused cannot be asked for its clock.
			return slices.ContainsFunc(targets, func(t string) bool { return busy[t] > 0 && step.At <= busy[t]+rest })
		}
		return false
	})
}

// rest is how long after one fault of a process is over the next may come: it takes
// some time to end a fault, and to see that.
const rest = time.Millisecond

// processStopped notes that a process stands still, is starved, read-only or gone, and reports
// whether it cannot: one that is under one of these faults cannot be told of another.
func (s *Schedule) processStopped(step Step, target string, dead map[string]bool, busy map[string]time.Duration) bool {
	if step.At <= busy[target]+rest && busy[target] > 0 {
		return true
	}
	lasts := max(step.For.In(s.TTL), step.After.In(s.TTL))
	if lasts == 0 && target[0] == 'c' {
		dead[target] = true
	}
	busy[target] = step.At + lasts
	return false
}
