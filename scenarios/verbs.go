package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/nemesis"
)

// Time is in the place of targets where a step has a duration: 1.2 ttl.
const Time nemesis.Targets = 1 << 7

// acceptsText says in words what a verb can be aimed at.
func acceptsText(t nemesis.Targets) string {
	if t == Time {
		return "a duration"
	}
	return t.String()
}

// Usage is what a verb takes. The loader holds steps to it, and
// docs/scenarios.md shows it.
type Usage struct {
	Verb     Verb
	Targets  nemesis.Targets
	Required []string // modifiers that it cannot do without
	Optional []string
	Doc      string // one line, for the user
}

// steps are the verbs that are no faults.
var steps = []Usage{
	{VerbAcquire, nemesis.Clients, nil, []string{"key", "reaching", "async", "must", "thread", "within"},
		"gets the lock, with the lock's own retries"},
	{VerbExtend, nemesis.Clients, nil, []string{"async", "if-held", "must", "thread", "within"}, "prolongs the lease"},
	{VerbRelease, nemesis.Clients, nil, []string{"async", "if-held", "must", "thread", "within"}, "releases the lock"},
	{VerbCheck, nemesis.Clients, nil, []string{"async", "if-held", "must", "thread"},
		"asks the lease whether it is still valid"},
	{VerbRead, nemesis.Clients, nil, []string{"key", "async", "must", "thread"}, "reads the register at the store"},
	{VerbWrite, nemesis.Clients, nil, []string{"key", "async", "if-held", "must", "thread"},
		"writes the register, derived from what the client read last"},
	{VerbWatch, nemesis.Clients, nil, []string{"async", "if-held", "thread"},
		"keeps the lease extended in the background from here on"},
	{VerbCancel, nemesis.Clients | nemesis.Loops, nil, nil, "cancels the operation that is under way"},
	{VerbAwait, nemesis.Clients, nil, []string{"must"},
		"waits for all that the client has under way; `must` is about the last of it"},
	{VerbWait, Time, nil, nil, "lets time pass"},
	{VerbUntil, nemesis.Links, []string{"of"}, []string{"has", "within"},
		"waits until the node has received, or answered, such a command on the link"},
	{VerbAwaitSync, nemesis.Replicas, nil, []string{"within"}, "waits until the replica has every write of its master"},
	{VerbAwaitPromotion, nemesis.Replicas, nil, []string{"within"},
		"waits until Sentinel, or its Redis Cluster, has made the replica the master, and every Sentinel or member says so"},
}

// Usages lists the verbs with what each takes, in the order of the document:
// what clients and the script do, then the faults.
func Usages() []Usage {
	all := slices.Clone(steps)
	for _, d := range nemesis.Declarations() {
		all = append(all, usageOf(d))
	}
	return all
}

func usageOf(d *nemesis.Declaration) Usage {
	return Usage{Verb(d.Kind), d.Targets(), d.Required, d.Optional, d.Doc}
}

// usage is what one verb takes, and whether there is such a verb.
func usage(v Verb) (Usage, bool) {
	if i := slices.IndexFunc(steps, func(u Usage) bool { return u.Verb == v }); i >= 0 {
		return steps[i], true
	}
	if d := nemesis.Find(string(v)); d != nil {
		return usageOf(d), true
	}
	return Usage{}, false
}

func verbNames() []string {
	var names []string
	for _, u := range Usages() {
		names = append(names, string(u.Verb))
	}
	return names
}

// modifiers lists all that the verb takes beside its targets.
func (u Usage) modifiers() []string { return slices.Concat(u.Required, u.Optional) }

// TableRow is the verb's line in the table of docs/scenarios.md; what it cannot do
// without is bold.
func (u Usage) TableRow() string {
	var modifiers []string
	for _, m := range u.Required {
		modifiers = append(modifiers, "**`"+m+"`**")
	}
	for _, m := range u.Optional {
		modifiers = append(modifiers, "`"+m+"`")
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", u.Verb, acceptsText(u.Targets), strings.Join(modifiers, ", "), u.Doc)
}
