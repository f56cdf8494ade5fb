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

// Kind names a kind of fault: its verb in scenario files, and what histories call
// it.
type Kind string

// Declaration is everything about one kind of fault. Each stands in a file of its
// own, with the code that applies the fault and proves that it took effect. The
// loader of scenarios, the schedule, the stories and reports, the lab and the
// documents ask it; none of them knows a fault by name.
type Declaration struct {
	Kind Kind
	Doc  string // one line, for the table of verbs

	// What it does to a node, a replica alone, a client, a link: nil where it
	// cannot be aimed at one. What befalls nodes befalls their replicas.
	Node, Replica, Client, Link *Effect
	// Required are the modifiers that it cannot do without, Optional those that it
	// can: "after", "for", "of", "part", "times", "direction", "by", "jump", "rate".
	Required, Optional []string
	// Check finds what is wrong with a use that no single modifier shows.
	Check func(Use) []Misuse
	// Draw is how a seeded schedule may draw it; nil: it may not.
	Draw *Draw
	// Knobs are its quantities that the lab lets a reader turn; without any it is
	// how long the fault lasts.
	Knobs []Knob
	// EndedBy is the kind of fault that ends it, beside its own end; after "after",
	// too.
	EndedBy Kind
	// Machine: it takes a node's machine, and with it the supervisor of the server.
	Machine bool
	Words   Words
	// AffectedDoc is what the history counts as its "met", in a few words, or why it cannot be
	// counted: then the checker looks for what it met in the rest of the history. Of what
	// breaks nothing there is none.
	AffectedDoc string

	apply func(n *Nemesis, ctx context.Context, f Fault, target string) (*Active, error)
	// undo ends a drawn one where its own end does not.
	undo func(n *Nemesis, ctx context.Context, f Fault) error
	// endsWithProcess names the measure of how long it lasted, of a fault that is over when
	// its target's process ends.
	endsWithProcess string
}

// Effect is what a fault does to one kind of target.
type Effect struct {
	Class history.Class
	// Needs is the ability that a cluster must have for it; nil: every cluster can do it.
	Needs *cluster.Ability
}

// Draw says what a fault takes in a schedule, beside its targets, their number
// and how often. With "for" it ends after so long: a node that went down is then
// started, a clock runs at the true rate again.
type Draw struct {
	Targets            Targets // 0: whatever the fault can be aimed at
	Required, Optional []string
}

// Knob is a quantity that a reader may turn: by its modifier, with a label that
// goes before the targets, and within bounds. Those of spans count in TTLs.
type Knob struct {
	Modifier       string // "by", "jump" or "rate"
	Label          string
	Min, Max, Step float64
}

// Use is one use of a fault in a scenario, as far as a declaration judges it.
type Use struct {
	Random    bool            // by a schedule, not by a step of a script
	Modifiers map[string]bool // its modifiers
	Delay     time.Duration   // what "by" says
	Clients   []string        // its targets that are clients
}

// Misuse is what is wrong with a use: at which modifier ("": at the fault
// itself), what, and what would be right.
type Misuse struct{ Modifier, Problem, Want string }

var declarations []*Declaration

// declare adds a kind of fault to those that there are.
func declare(d *Declaration) *Declaration {
	if Find(string(d.Kind)) != nil {
		panic(fmt.Sprintf("the fault %s is declared twice", d.Kind))
	}
	declarations = append(declarations, d)
	slices.SortFunc(declarations, func(a, b *Declaration) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Kind, b.Kind))
	})
	return d
}

// rank is a declaration's place in documents, by what the fault does.
func (d *Declaration) rank() int { return slices.Index(history.Classes, d.effects()[0].Class) }

// Declarations lists the kinds of faults in the order of documents: by what they
// do, then by name.
func Declarations() []*Declaration { return slices.Clone(declarations) }

// Find gives the declaration of a kind of fault, nil if there is none.
func Find(kind string) *Declaration {
	i := slices.IndexFunc(declarations, func(d *Declaration) bool { return string(d.Kind) == kind })
	if i < 0 {
		return nil
	}
	return declarations[i]
}

func (d *Declaration) effects() []*Effect {
	return slices.DeleteFunc([]*Effect{d.Node, d.Replica, d.Link, d.Client}, func(e *Effect) bool { return e == nil })
}

// Targets is what the fault can be aimed at.
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

// RandomTargets is what a schedule can aim the fault at.
func (d *Declaration) RandomTargets() Targets { return cmp.Or(d.Draw.Targets, d.Targets()) }

// EffectOn is what the fault does to a target of a run on these servers, nil if it cannot
// be aimed at it.
func (d *Declaration) EffectOn(target string, servers []string) *Effect {
	return d.effectOn(target,
		func(name string) bool { return !slices.Contains(servers, name) })
}

func (d *Declaration) effectOn(target string, isClient func(string) bool) *Effect {
	_, isLink := history.LinkOf(target)
	switch {
	case isLink:
		return d.Link
	case isClient(target):
		return d.Client
	case d.Replica != nil:
		return d.Replica
	}
	return d.Node
}

// HasClass reports whether the fault does something of a class to any target.
func (d *Declaration) HasClass(class history.Class) bool {
	return slices.ContainsFunc(d.effects(), func(e *Effect) bool { return e.Class == class })
}

// Breaks reports whether the fault breaks something, and does not only end what
// others did.
func (d *Declaration) Breaks() bool { return d.effects()[0].Class.IsFault() }

// kindsEndedBy lists the kinds of faults that one ends.
func kindsEndedBy(kind Kind) []Kind {
	var kinds []Kind
	for _, d := range declarations {
		if d.EndedBy == kind {
			kinds = append(kinds, d.Kind)
		}
	}
	return kinds
}

func init() { history.SetOldFaultClassifier(Classify) }

// serverName is the form of the names of nodes and replicas.
var serverName = regexp.MustCompile(`^[nr][1-9][0-9]*$`)

// Classify sets what a history says of a fault beside its name, by its kind and its
// first target, where it says nothing yet: histories of older releases have no
// classes.
func Classify(f *history.Fault) {
	d := Find(f.Kind)
	if d == nil || len(f.Targets) == 0 || f.Class != "" {
		return
	}
	if on := d.effectOn(f.Targets[0], func(name string) bool { return !serverName.MatchString(name) }); on != nil {
		f.Class = on.Class
	}
	if f.Phase != history.PhaseEnd {
		f.Past = d.Words.Past
	}
}
