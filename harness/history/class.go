package history

import "slices"

// Class is a fault's effect on its targets. The checker judges by it, so it needs to know no fault by name.
type Class string

// The classes. NodeUp, Resumed, LinkHealed and LetGo end others.
const (
	NodeDown        Class = "node-down"        // it does not run
	NodeUp          Class = "node-up"          // it runs again
	NodePaused      Class = "node-paused"      // it is suspended
	NodeUnreachable Class = "node-unreachable" // it runs, but no message reaches it
	NodeForgets     Class = "node-forgets"     // it loses its keys, in an instant
	NodeScripts     Class = "node-scripts"     // it loses its cached scripts, in an instant
	NodeMemory      Class = "node-memory"      // its memory is full: it refuses writes, or evicts keys
	NodeReadOnly    Class = "node-readonly"    // it refuses writes, and keeps its keys
	NodeDisk        Class = "node-disk"        // its disk is slow, fails or is full
	NodeClock       Class = "node-clock"       // its clock is set
	Failover        Class = "failover"         // a replica becomes a master
	SlotMoves       Class = "slot-moves"       // some of its keys move to the node in "to"

	ClientKilled  Class = "client-killed"  // it does not run, and does not come back
	ClientPaused  Class = "client-paused"  // it is suspended
	ClientStarved Class = "client-starved" // its timers are late, and its work continues
	ClientClock   Class = "client-clock"   // its clock is set
	Resumed       Class = "resumed"        // a paused node or client continues

	LinkCut     Class = "link-cut"     // no message passes until it is healed
	LinkSlow    Class = "link-slow"    // messages take longer
	LinkHealed  Class = "link-healed"  // messages pass as before
	MessageHeld Class = "message-held" // single messages wait
	MessageLost Class = "message-lost" // single messages are lost
	LetGo       Class = "let-go"       // messages pass again, and held ones too
)

// Classes lists the classes in the documents' order.
var Classes = []Class{NodeDown, NodeUp, NodePaused, Resumed, LinkCut, LinkSlow, LinkHealed, MessageHeld, MessageLost,
	LetGo, NodeClock, NodeForgets, SlotMoves, NodeScripts, NodeReadOnly, NodeDisk, NodeMemory, NodeUnreachable,
	Failover, ClientKilled, ClientPaused, ClientStarved, ClientClock}

// ends maps a class to those that it ends on its targets.
var ends = map[Class][]Class{
	NodeUp:     {NodeDown},
	Resumed:    {NodePaused, ClientPaused},
	LinkHealed: {LinkCut, LinkSlow},
	LetGo:      {MessageHeld, MessageLost},
	// Another change of a clock ends the skew before it.
	NodeClock:   {NodeClock},
	ClientClock: {ClientClock},
}

// Ends reports whether a fault of this class ends one of another on the same target.
func (c Class) Ends(other Class) bool { return slices.Contains(ends[c], other) }

// IsFault reports whether a fault of this class breaks something, and does not only end other faults.
func (c Class) IsFault() bool {
	return !slices.Contains([]Class{NodeUp, Resumed, LinkHealed, LetGo}, c)
}

// Lasts reports whether a fault of this class, recorded as an instant, has effect until another ends it.
func (c Class) Lasts() bool { return c.IsFault() && c != NodeForgets && c != NodeScripts }

// StopsNode reports whether such a fault makes a node unhealthy. A node with a wrong clock still answers.
func (c Class) StopsNode() bool {
	return slices.Contains([]Class{NodeDown, NodePaused, NodeUnreachable, NodeMemory, NodeReadOnly, NodeDisk}, c)
}

// StopsClient reports whether a client does not run under such a fault.
func (c Class) StopsClient() bool { return c == ClientKilled || c == ClientPaused }

// Pauses reports whether such a fault suspends a node or client, which then continues with its state.
func (c Class) Pauses() bool { return c == NodePaused || c == ClientPaused }

// DisturbsLink reports whether such a fault delays or loses messages of a link.
func (c Class) DisturbsLink() bool {
	return slices.Contains([]Class{LinkCut, LinkSlow, MessageHeld, MessageLost}, c)
}

// completeOldFault completes a fault that an older release recorded.
var completeOldFault func(*Fault)

// SetOldFaultClassifier sets the function that completes an older release's fault without a class, by its kind and
// targets. Package nemesis, which knows faults by name, calls it once, before any history is read.
func SetOldFaultClassifier(complete func(*Fault)) { completeOldFault = complete }
