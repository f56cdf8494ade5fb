package history

import "slices"

// Class is what a fault does to its targets, whatever it is called. Whoever
// judges a history goes by it, and so needs to know no fault by name.
type Class string

// The classes. NodeUp, Resumed, LinkHealed and LetGo end others.
const (
	NodeDown        Class = "node-down"        // it does not run
	NodeUp          Class = "node-up"          // it runs again
	NodePaused      Class = "node-paused"      // it stands still
	NodeUnreachable Class = "node-unreachable" // it runs, and nobody reaches it
	NodeForgets     Class = "node-forgets"     // its keys are gone, at once
	NodeScripts     Class = "node-scripts"     // the scripts that it knew are gone, at once
	NodeMemory      Class = "node-memory"      // its memory is full: it refuses writes, or evicts keys
	NodeReadOnly    Class = "node-readonly"    // it refuses writes, and keeps what it has
	NodeDisk        Class = "node-disk"        // its disk is slow, fails or is full
	NodeClock       Class = "node-clock"       // its clock is set
	Failover        Class = "failover"         // a replica becomes a master
	SlotMoves       Class = "slot-moves"       // keys of it go to another node, the one in its "to"

	ClientKilled  Class = "client-killed"  // it does not run, and does not come back
	ClientPaused  Class = "client-paused"  // it stands still
	ClientStarved Class = "client-starved" // its timers are late, and its work goes on
	ClientClock   Class = "client-clock"   // its clock is set
	Resumed       Class = "resumed"        // a node or client that stood still goes on

	LinkCut     Class = "link-cut"     // nothing passes until it is healed
	LinkSlow    Class = "link-slow"    // what passes takes longer
	LinkHealed  Class = "link-healed"  // all passes as before
	MessageHeld Class = "message-held" // single messages wait
	MessageLost Class = "message-lost" // single messages are lost
	LetGo       Class = "let-go"       // messages pass again, and those that waited too
)

// Classes lists them in the order in which documents show faults.
var Classes = []Class{NodeDown, NodeUp, NodePaused, Resumed, LinkCut, LinkSlow, LinkHealed, MessageHeld, MessageLost,
	LetGo, NodeClock, NodeForgets, SlotMoves, NodeScripts, NodeReadOnly, NodeDisk, NodeMemory, NodeUnreachable,
	Failover, ClientKilled, ClientPaused, ClientStarved, ClientClock}

// ends gives the classes that one of them ends on its targets.
var ends = map[Class][]Class{
	NodeUp:     {NodeDown},
	Resumed:    {NodePaused, ClientPaused},
	LinkHealed: {LinkCut, LinkSlow},
	LetGo:      {MessageHeld, MessageLost},
	// A clock that is set anew ends the skew that was.
	NodeClock:   {NodeClock},
	ClientClock: {ClientClock},
}

// Ends reports whether a fault of this class ends one of another on the same
// target.
func (c Class) Ends(other Class) bool { return slices.Contains(ends[c], other) }

// IsFault reports whether a fault of this class breaks something, and does not
// only end what others did.
func (c Class) IsFault() bool {
	return !slices.Contains([]Class{NodeUp, Resumed, LinkHealed, LetGo}, c)
}

// Lasts reports whether a fault of this class, recorded as an instant, is in
// effect until another ends it.
func (c Class) Lasts() bool { return c.IsFault() && c != NodeForgets && c != NodeScripts }

// StopsNode reports whether a node is not healthy under such a fault. A clock that
// is wrong does not keep it from answering.
func (c Class) StopsNode() bool {
	return slices.Contains([]Class{NodeDown, NodePaused, NodeUnreachable, NodeMemory, NodeReadOnly, NodeDisk}, c)
}

// StopsClient reports whether a client does nothing under such a fault.
func (c Class) StopsClient() bool { return c == ClientKilled || c == ClientPaused }

// Pauses reports whether a node or client stands still under such a fault, and
// goes on after it as it was.
func (c Class) Pauses() bool { return c == NodePaused || c == ClientPaused }

// DisturbsLink reports whether a link does not carry every message in its time.
func (c Class) DisturbsLink() bool {
	return slices.Contains([]Class{LinkCut, LinkSlow, MessageHeld, MessageLost}, c)
}

// completeOldFault completes a fault that an older release recorded.
var completeOldFault func(*Fault)

// SetOldFaultClassifier says how to complete a fault that an older release recorded without
// its class, by its kind and targets. Package nemesis, which knows faults by name,
// does so once, before any history is read.
func SetOldFaultClassifier(complete func(*Fault)) { completeOldFault = complete }
