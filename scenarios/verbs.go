package scenarios

import (
	"slices"

	"example.org/lockproof/nemesis"
)

// Time stands for a duration in place of targets.
const Time nemesis.Targets = 1 << 7

// acceptsText names the accepted targets.
func acceptsText(t nemesis.Targets) string {
	if t == Time {
		return "a duration"
	}
	return t.String()
}

// Usage has the targets and modifiers of a verb. The loader checks steps against it, and docs/scenarios.md shows it.
type Usage struct {
	Verb     Verb
	Targets  nemesis.Targets
	Required []string // modifiers
	Optional []string
	Doc      string // one line, for the user
}

// scriptVerbs are the verbs other than faults.
var scriptVerbs = []Usage{
	{VerbAcquire, nemesis.Clients, nil, []string{"key", "reaching", "async", "must", "thread", "within"},
		"gets the lock, with the lock's own retries"},
	{VerbExtend, nemesis.Clients, nil, []string{"async", "if-held", "if-supported", "must", "thread", "within"},
		"prolongs the lease"},
	{VerbRelease, nemesis.Clients, nil, []string{"async", "if-held", "must", "thread", "within"}, "releases the lock"},
	{VerbCheck, nemesis.Clients, nil, []string{"async", "if-held", "must", "thread"},
		"checks whether the lease is still valid"},
	{VerbRead, nemesis.Clients, nil, []string{"key", "async", "must", "thread"}, "reads the register at the store"},
	{VerbWrite, nemesis.Clients, nil, []string{"key", "async", "if-held", "must", "thread"},
		"writes the register, derived from what the client read last"},
	{VerbWatch, nemesis.Clients, nil, []string{"async", "if-held", "thread"},
		"extends the lease in the background from then on"},
	{VerbCancel, nemesis.Clients | nemesis.Loops, nil, nil, "cancels the operation in progress"},
	{VerbAwait, nemesis.Clients, nil, []string{"must"},
		"waits until all running operations of the client have returned; `must` is the required outcome of the last one"},
	{VerbWait, Time, nil, nil, "lets time pass"},
	{VerbUntil, nemesis.Links, []string{"of"}, []string{"has", "within"},
		"waits until the node has received, or answered, such a command on the link"},
	{VerbAwaitExpiry, nemesis.Nodes, nil, nil,
		"waits until every key that expires has expired, however long that takes; in virtual time only"},
	{VerbAwaitSync, nemesis.Replicas, nil, []string{"within"}, "waits until the replica has every write of its master"},
	{VerbAwaitPromotion, nemesis.Replicas, nil, []string{"within"},
		"waits until Sentinel or the Redis Cluster has promoted the replica, and every Sentinel or member reports it"},
}

// Usages lists the verbs in the order of the document: the script's verbs, then the faults.
func Usages() []Usage {
	all := slices.Clone(scriptVerbs)
	for _, d := range nemesis.Declarations() {
		all = append(all, usageOf(d))
	}
	return all
}

func usageOf(d *nemesis.Declaration) Usage {
	return Usage{Verb(d.Kind), d.Targets(), d.Required, d.Optional, d.Doc}
}

func usage(v Verb) (Usage, bool) {
	if i := slices.IndexFunc(scriptVerbs, func(u Usage) bool { return u.Verb == v }); i >= 0 {
		return scriptVerbs[i], true
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

func (u Usage) modifiers() []string { return slices.Concat(u.Required, u.Optional) }
