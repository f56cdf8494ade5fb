package explore

import (
	"slices"
	"strings"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/scenarios"
)

// shrinker reduces a schedule while it still shows its violation.
type shrinker struct {
	best    *Schedule
	breaks  func(*Schedule) bool // the schedule shows the violation
	stopped func() bool          // time is over
}

// shrink removes steps, clients, nodes and options that the violation does not need, and rounds times. The result is a
// local minimum: each change is tried alone, until none helps (delta debugging; Zeller, Hildebrandt 2002).
func shrink(s *Schedule, breaks func(*Schedule) bool, stopped func() bool) *Schedule {
	k := &shrinker{best: s, breaks: breaks, stopped: stopped}
	for {
		before := k.best
		k.steps()
		k.clients()
		k.nodes()
		k.options()
		k.targets()
		k.spans()
		k.times()
		if k.best == before || stopped() {
			return k.best
		}
	}
}

// try keeps a change if the schedule still shows the violation.
func (k *shrinker) try(change func(*Schedule)) bool {
	if k.stopped() {
		return false
	}
	c := k.best.clone()
	change(c)
	c.normalize()
	if !k.breaks(c) {
		return false
	}
	k.best = c
	return true
}

// steps removes steps: half of them at once, then fewer.
func (k *shrinker) steps() {
	for size := len(k.best.Steps) / 2; size > 0; size /= 2 {
		for from := len(k.best.Steps) - size; from >= 0; from -= size {
			from = min(from, len(k.best.Steps)-size)
			if from < 0 {
				break
			}
			k.try(func(s *Schedule) { s.Steps = slices.Delete(s.Steps, from, from+size) })
		}
	}
}

// minNodes keeps a minority that may fail.
const minNodes = 3

// clients removes clients one by one, with their steps, and renumbers the rest. nodes does the same for nodes.
func (k *shrinker) clients() { k.members(func(s *Schedule) *int { return &s.Clients }, 1, client) }
func (k *shrinker) nodes()   { k.members(func(s *Schedule) *int { return &s.Nodes }, minNodes, node) }

func (k *shrinker) members(count func(*Schedule) *int, minimum int, name func(int) string) {
	for i := *count(k.best) - 1; i >= 0 && *count(k.best) > minimum; i-- {
		k.try(func(s *Schedule) {
			names := map[string]string{name(i): ""}
			for j := i + 1; j < *count(s); j++ {
				names[name(j)] = name(j - 1)
			}
			*count(s)--
			s.Steps = renamed(s.Steps, names)
		})
	}
}

// renamed renames targets, and removes those with the new name "". It drops steps without targets.
func renamed(steps []Step, names map[string]string) []Step {
	var kept []Step
	for _, step := range steps {
		var targets []string
		for _, t := range step.Targets {
			ends := strings.Split(t, "-")
			for i, end := range ends {
				if to, is := names[end]; is {
					ends[i] = to
				}
			}
			if !slices.Contains(ends, "") {
				targets = append(targets, strings.Join(ends, "-"))
			}
		}
		if len(targets) > 0 {
			step.Targets = targets
			kept = append(kept, step)
		}
	}
	return kept
}

// options restores defaults of the lock and the nodes.
func (k *shrinker) options() {
	for _, clear := range []func(*scenarios.Lock){
		func(l *scenarios.Lock) { l.NodeTimeout = scenarios.Span{} },
		func(l *scenarios.Lock) { l.RetryMin, l.RetryMax = scenarios.Span{}, scenarios.Span{} },
		func(l *scenarios.Lock) { l.Tries = 0 },
		func(l *scenarios.Lock) { l.MaxExtensions = 0 },
		func(l *scenarios.Lock) { l.Resends = 0 },
	} {
		cleared := k.best.Lock
		if clear(&cleared); cleared != k.best.Lock {
			k.try(func(s *Schedule) { s.Lock = cleared })
		}
	}
	if k.best.Persistence != cluster.PersistNone && !k.restarts() {
		k.try(func(s *Schedule) { s.Persistence = cluster.PersistNone })
	}
}

// restarts reports whether a node restarts: only then does persistence matter.
func (k *shrinker) restarts() bool {
	return slices.ContainsFunc(k.best.Steps, func(s Step) bool { return !s.After.IsZero() })
}

// targets removes targets from steps with several.
func (k *shrinker) targets() {
	for i := range k.best.Steps {
		for t := 0; i < len(k.best.Steps) && t < len(k.best.Steps[i].Targets) && len(k.best.Steps[i].Targets) > 1; {
			if !k.try(func(s *Schedule) { s.Steps[i].Targets = slices.Delete(slices.Clone(s.Steps[i].Targets), t, t+1) }) {
				t++
			}
		}
	}
}

// spans rounds the durations of steps.
func (k *shrinker) spans() {
	for i := range k.best.Steps {
		for _, field := range []func(*Step) *scenarios.Span{
			func(s *Step) *scenarios.Span { return &s.Within },
			func(s *Step) *scenarios.Span { return &s.For },
			func(s *Step) *scenarios.Span { return &s.After },
			func(s *Step) *scenarios.Span { return &s.By },
			func(s *Step) *scenarios.Span { return &s.Jump },
		} {
			if i < len(k.best.Steps) && !field(&k.best.Steps[i]).IsZero() {
				k.span(i, field)
			}
		}
	}
}

// span tries rounder values for one duration, the roundest first.
func (k *shrinker) span(i int, field func(*Step) *scenarios.Span) {
	now := field(&k.best.Steps[i]).Fixed
	for _, value := range rounderValues(now, k.best.TTL) {
		if k.try(func(s *Schedule) { *field(&s.Steps[i]) = fixed(value) }) {
			return
		}
	}
}

// rounderValues lists rounder values near a duration, the roundest first: whole TTLs, halves, tenths, and so on.
func rounderValues(d, ttl time.Duration) []time.Duration {
	var values []time.Duration
	for _, part := range []time.Duration{1, 2, 10, 20, 100, 200} {
		unit := ttl / part
		if d%unit == 0 {
			break
		}
		for _, v := range []time.Duration{d.Round(unit), d.Truncate(unit), d.Truncate(unit) + unit} {
			if v > 0 && d > 0 || v < 0 && d < 0 {
				values = append(values, v)
			}
		}
	}
	return values
}

// times removes or rounds the waits between steps. The steps behind a wait move with it.
func (k *shrinker) times() {
	for i := range k.best.Steps {
		if i >= len(k.best.Steps) {
			return
		}
		wait := k.best.wait(i)
		if wait <= 0 {
			continue
		}
		for _, value := range append([]time.Duration{0}, rounderValues(wait, k.best.TTL)...) {
			move := value - wait
			if k.try(func(s *Schedule) {
				for j := i; j < len(s.Steps); j++ {
					s.Steps[j].At += move
				}
			}) {
				break
			}
		}
	}
}
