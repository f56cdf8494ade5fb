package explore

import (
	"cmp"
	"slices"
	"time"

	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

// normalize sorts the steps and removes impossible ones, for example the kill of a dead client or the pause of a
// paused one. So every schedule can run after any change.
func (s *Schedule) normalize() {
	slices.SortStableFunc(s.Steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	dead := map[string]bool{}
	busy := map[string]time.Duration{} // end of the last process fault, by node or client
	acquired := map[string]bool{}
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
			acquired[targets[0]] = true
		case scenarios.VerbExtend, scenarios.VerbRelease, scenarios.VerbWatch, scenarios.VerbWrite,
			scenarios.VerbCheck, scenarios.VerbCancel:
			return !acquired[targets[0]]
		case nemesis.Pause, nemesis.Kill, nemesis.PowerLoss, nemesis.Starve, nemesis.Demote:
			return s.processBusy(step, targets[0], dead, busy)
		case nemesis.Clock, nemesis.Flush, nemesis.ScriptFlush, nemesis.DeleteKey:
			// A process that is down or paused cannot execute these.
			return slices.ContainsFunc(targets, func(t string) bool { return busy[t] > 0 && step.At <= busy[t]+faultGap })
		}
		return false
	})
}

// faultGap separates two faults of one process: ending a fault and observing its end take time.
const faultGap = time.Millisecond

// processBusy records a step that stops, starves or demotes a process, and reports whether the process is
// already under such a fault: then the step is impossible.
func (s *Schedule) processBusy(step Step, target string, dead map[string]bool, busy map[string]time.Duration) bool {
	if step.At <= busy[target]+faultGap && busy[target] > 0 {
		return true
	}
	lasts := max(step.For.In(s.TTL), step.After.In(s.TTL))
	if lasts == 0 && target[0] == 'c' {
		dead[target] = true
	}
	busy[target] = step.At + lasts
	return false
}
