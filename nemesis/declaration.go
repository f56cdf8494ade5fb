package nemesis

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// Declaration is everything about one kind of fault. Each has its own file, with the code that applies the fault and
// proves its effect. The scenario loader, the schedule, the stories and reports, the lab and the documents use it; none
// of them names a fault.
type Declaration struct {
	Kind string // its verb in scenario files, and its name in histories
	Doc  string // one line, for the table of verbs

	// The effects by target; nil: not a target. Node includes replicas, Replica excludes masters.
	Node, Replica, Client, Link *Effect
	// Required and Optional are its modifiers: "after", "for", "of", "part", "times", "direction", "by", "jump", "rate".
	Required, Optional []string
	// Check finds misuses of modifiers in combination.
	Check func(Use) []Misuse
	// Draw is its form in a seeded schedule; nil: not in schedules.
	Draw *Draw
	// Knobs are its quantities that a reader can change in the lab; without any, its duration.
	Knobs []Knob
	// EndedBy is the kind of fault that ends it, beside its own end; also after "after".
	EndedBy string
	// Machine: it stops a node's machine, including the server's supervisor.
	Machine bool
	Words   Words

	apply func(n *Nemesis, ctx context.Context, f Fault, target string) (*Active, error)
	// undo ends a drawn fault that has no end of its own.
	undo func(n *Nemesis, ctx context.Context, f Fault) error
	// endsWithProcess names the measured duration of a fault that ends with its target's process.
	endsWithProcess string
}

// Effect is a fault's effect on one kind of target.
type Effect struct {
	Class history.Class
	// Needs is the necessary ability of the cluster; nil: every cluster can do it.
	Needs *cluster.Ability
}

// Draw has a fault's modifiers in a schedule, beside its targets, their number and the interval. A fault with "for"
// ends after that time: a node that is down starts, a clock runs at the true rate again.
type Draw struct {
	Targets            Targets // 0: all of the fault's targets
	Required, Optional []string
}

// Knob is a quantity that a reader can change. Label precedes the targets. Durations count in TTLs.
type Knob struct {
	Modifier       string // "by", "jump" or "rate"
	Label          string
	Min, Max, Step float64
}

// Use is one use of a fault in a scenario, for Declaration.Check.
type Use struct {
	Random    bool            // by a schedule, not by a step of a script
	Modifiers map[string]bool // its modifiers
	Delay     time.Duration   // the value of "by"
	Clients   []string        // its targets that are clients
}

// Misuse is a mistake in a use: the modifier ("": the fault itself), the problem, and a correct form.
type Misuse struct{ Modifier, Problem, Want string }

var declarations []*Declaration

func declare(d *Declaration) *Declaration {
	if Find(d.Kind) != nil {
		panic(fmt.Sprintf("the fault %s is declared twice", d.Kind))
	}
	declarations = append(declarations, d)
	slices.SortFunc(declarations, func(a, b *Declaration) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Kind, b.Kind))
	})
	return d
}

// rank orders declarations in documents by class.
func (d *Declaration) rank() int { return slices.Index(history.Classes, d.effects()[0].Class) }

// Declarations lists the kinds of faults in the order of documents: by class, then by name.
func Declarations() []*Declaration { return slices.Clone(declarations) }

// Find returns the declaration of a kind of fault, or nil.
func Find(kind string) *Declaration {
	i := slices.IndexFunc(declarations, func(d *Declaration) bool { return d.Kind == kind })
	if i < 0 {
		return nil
	}
	return declarations[i]
}

func (d *Declaration) effects() []*Effect {
	return slices.DeleteFunc([]*Effect{d.Node, d.Replica, d.Link, d.Client}, func(e *Effect) bool { return e == nil })
}

// Targets are the fault's possible targets.
func (d *Declaration) Targets() Targets {
	var t Targets
	for _, aim := range []struct {
		effect *Effect
		at     Targets
	}{{d.Node, Nodes}, {d.Replica, Replicas}, {d.Client, Clients | Loops}, {d.Link, Links}} {
		if aim.effect != nil {
			t |= aim.at
		}
	}
	return t
}

// RandomTargets are the fault's possible targets in a schedule.
func (d *Declaration) RandomTargets() Targets { return cmp.Or(d.Draw.Targets, d.Targets()) }

// EffectOn is the fault's effect on a target in a run on these servers, or nil for an invalid target.
func (d *Declaration) EffectOn(target string, servers []string) *Effect {
	return d.effectOn(target, !slices.Contains(servers, target))
}

func (d *Declaration) effectOn(target string, isClient bool) *Effect {
	_, isLink := history.LinkOf(target)
	switch {
	case isLink:
		return d.Link
	case isClient:
		return d.Client
	case d.Replica != nil:
		return d.Replica
	}
	return d.Node
}

// HasClass reports whether the fault has an effect of a class on any target.
func (d *Declaration) HasClass(class history.Class) bool {
	return slices.ContainsFunc(d.effects(), func(e *Effect) bool { return e.Class == class })
}

// Breaks reports whether the fault breaks something, and does not only end other faults.
func (d *Declaration) Breaks() bool { return d.effects()[0].Class.IsFault() }

// kindsEndedBy lists the kinds of faults that a kind ends.
func kindsEndedBy(kind string) []string {
	var kinds []string
	for _, d := range declarations {
		if d.EndedBy == kind {
			kinds = append(kinds, d.Kind)
		}
	}
	return kinds
}

func init() { history.SetOldFaultClassifier(Classify) }

// serverName matches the names of nodes and replicas.
var serverName = regexp.MustCompile(`^[nr][1-9][0-9]*$`)

// Classify sets a fault's missing class and past, by its kind and its first target: histories of older releases have no
// classes.
func Classify(f *history.Fault) {
	d := Find(f.Kind)
	if d == nil || len(f.Targets) == 0 || f.Class != "" {
		return
	}
	if on := d.effectOn(f.Targets[0], !serverName.MatchString(f.Targets[0])); on != nil {
		f.Class = on.Class
	}
	if f.Phase != history.PhaseEnd {
		f.Past = d.Words.Past
	}
}
