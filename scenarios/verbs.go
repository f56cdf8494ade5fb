package scenarios

import "strings"

// Targets says what a verb can be aimed at.
type Targets uint8

// The kinds of targets. A step that takes a Time has a duration in its place.
const (
	Clients  Targets = 1 << iota // of the script: c1
	Loops                        // of the workload: w1
	Nodes                        // n3
	Replicas                     // r1; a verb that takes nodes takes them too
	Links                        // c1-n3, c1-store, and wildcards: "c1-*", "*-n3"
	Time                         // 1.2 ttl
)

// String says it in words, for errors and documents: "clients or nodes".
func (t Targets) String() string {
	var words []string
	for _, kind := range []struct {
		bit  Targets
		word string
	}{{Clients, "clients"}, {Nodes, "nodes"}, {Replicas, "replicas"}, {Links, "links"}, {Time, "a duration"}} {
		if t&kind.bit != 0 {
			words = append(words, kind.word)
		}
	}
	return strings.Join(words, " or ")
}

// take says whether a verb that takes these can be aimed at one of a kind.
func (t Targets) take(kind Targets) bool { return t&kind != 0 || kind == Replicas && t&Nodes != 0 }

// Usage is what a verb takes. The loader holds steps to it, and
// docs/scenarios.md shows it.
type Usage struct {
	Verb     Verb
	Targets  Targets
	Required []string // modifiers that it cannot do without
	Optional []string
	Doc      string // one line, for the user
}

// Docs lists the verbs with what each takes, in the order of the document.
var Docs = []Usage{
	{VerbAcquire, Clients, nil, []string{"key", "reaching", "async", "must", "within"}, "gets the lock, with the lock's own retries"},
	{VerbExtend, Clients, nil, []string{"async", "must", "within"}, "prolongs the lease"},
	{VerbRelease, Clients, nil, []string{"async", "must", "within"}, "gives the lock back"},
	{VerbCheck, Clients, nil, []string{"async", "must"}, "asks the lease whether it is still valid"},
	{VerbRead, Clients, nil, []string{"key", "async", "must"}, "reads the register at the store"},
	{VerbWrite, Clients, nil, []string{"key", "async", "must"}, "writes the register, derived from what the client read last"},
	{VerbWatch, Clients, nil, nil, "keeps the lease extended in the background from here on"},
	{VerbCancel, Clients | Loops, nil, nil, "cancels the operation that is under way"},
	{VerbAwait, Clients, nil, []string{"must"}, "waits for all that the client has under way; `must` is about the last of it"},
	{VerbWait, Time, nil, nil, "lets time pass"},
	{VerbUntil, Links, []string{"of"}, []string{"has", "within"}, "waits until the node has received, or answered, such a command on the link"},
	{VerbKill, Clients | Loops | Nodes, nil, []string{"after"}, "SIGKILL; only nodes can take `after`, clients stay dead"},
	{VerbShutdown, Nodes, nil, []string{"after"}, "a clean SHUTDOWN"},
	{VerbPowerLoss, Nodes, nil, []string{"after"}, "a kill after which what had not been fsynced is gone"},
	{VerbStart, Nodes, nil, nil, "brings a node that is down back"},
	{VerbPause, Clients | Loops | Nodes, nil, []string{"for"}, "SIGSTOP"},
	{VerbResume, Clients | Loops | Nodes, nil, nil, "SIGCONT"},
	{VerbCut, Links, nil, []string{"direction", "for"}, "holds all traffic on the link until it is healed"},
	{VerbHeal, Links, nil, nil, "ends a cut in both directions"},
	{VerbDelay, Links, []string{"by"}, []string{"direction", "for"}, "adds a one-way delay; 0 removes it"},
	{VerbHold, Links, []string{"of", "part"}, []string{"for", "times"}, "keeps the next such command, or its reply, and all behind it on its connection"},
	{VerbLose, Links, []string{"of", "part"}, []string{"for", "times"}, "swallows it and all behind it on its connection"},
	{VerbDrop, Links, []string{"of", "part"}, []string{"for", "times"}, "swallows it and closes the connection"},
	{VerbLetGo, Links, nil, nil, "passes on what is held, and ends every hold, lose and drop on the link"},
	{VerbClock, Clients | Loops | Nodes, nil, []string{"jump", "rate"}, "lets the wall clock jump, or the clock run at another rate"},
	{VerbFlush, Nodes, nil, nil, "an operator's FLUSHALL"},
	{VerbSlowFsync, Nodes, []string{"by"}, []string{"for"}, "delays each fsync on the node's disk, whichever process makes it"},
	{VerbFailFsync, Nodes, nil, []string{"for"}, "lets each fsync on the node's disk fail with an I/O error (EIO)"},
	{VerbPromote, Replicas, nil, nil, "makes the replica a master (REPLICAOF NO ONE)"},
	{VerbAwaitSync, Replicas, nil, []string{"within"}, "waits until the replica has every write of its master"},
	{VerbAwaitPromotion, Replicas, nil, []string{"within"}, "waits until Sentinel has made the replica the master, and every Sentinel says so"},
	{VerbFillDisk, Nodes, nil, []string{"for"}, "fills the node's disk: whatever its server writes fails with ENOSPC; on docker it is a small one, of 4 MB"},
	{VerbRewrite, Nodes, []string{"for"}, nil, "a BGREWRITEAOF that takes so long"},
	{VerbFill, Nodes, nil, []string{"for"}, "another user of the node fills its memory, up to `maxmemory` and, where keys are evicted for it, ten times over; with keys that expire, where only such are evicted"},
	{VerbDisconnect, Nodes, nil, []string{"for"}, "takes the node out of its network: it runs on, and nobody reaches it"},
}

// usages and verbNames are Docs by verb, and its verbs.
var usages, verbNames = index(Docs)

func index(docs []Usage) (map[Verb]Usage, []string) {
	byVerb, names := map[Verb]Usage{}, []string{}
	for _, u := range docs {
		byVerb[u.Verb] = u
		names = append(names, string(u.Verb))
	}
	return byVerb, names
}

// modifiers lists all that the verb takes beside its targets.
func (u Usage) modifiers() []string {
	return append(append([]string{}, u.Required...), u.Optional...)
}
