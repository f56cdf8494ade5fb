// Package redlock is the Redlock algorithm: a lock with an expiry, kept on a majority of N independent stores. It is
// written to be read in this order: a node's interface (node.go), the lock's options, state and errors (redlock.go),
// the count of votes (vote.go), acquire and validity (acquire.go), the lease and its release (release.go), extension
// and watch (extend.go), the list of rules and the clock (rules.go).
//
// # The algorithm
//
// [Redlock.Acquire] draws a random token and sends it to all N nodes at once, to store at the key for a TTL if the key
// is absent. The lock is acquired when N/2+1 nodes have said yes and
//
//	validity = TTL - elapsed - TTL*drift - 2ms
//
// is positive, where elapsed counts from before the first command was sent. The holder must stop its work on the
// guarded resource when validity ends: [Lease.Watch] extends the lease in time, or ends a context before that. A failed
// attempt is released on all nodes and repeated with a new token after a random delay.
//
// # The rules
//
// A [Rule] is something that the lock does because it is unsafe or stuck without it. Each can be switched off, to teach
// its purpose. Its reason and source stand beside the code that applies it, in a call of because.
//
// # Late answers
//
// A grant returns at the majority's yes, and the node timeout ends an attempt, while slower nodes are still working.
// Each is released after its reply, so that no SET lands after its own release and leaves a key without an owner.
//
// # What it does not promise
//
// Mutual exclusion rests on assumptions that no client can check:
//
//   - Nodes remember. A node that restarts without its keys, fails over, evicts or is flushed lets a second client
//     in. Package guard helps against restarts alone.
//   - Clocks run at nearly one rate: the drift factor covers different rates, and no jump.
//   - The holder stops in time. A holder suspended past its validity notices afterwards. If the data must survive
//     that, the store must check a fencing token: Redlock issues none (Kleppmann, "How to do distributed locking").
//   - All clients use the same list of nodes.
//
// The lock is neither reentrant nor fair, and makes no progress while partitions never end.
//
// # Nodes
//
// A [Node] is any store that compares and sets. Package server implements it on Redis; packages batch, native and guard
// make that faster and safer, and redlockotel observes it.
package redlock
