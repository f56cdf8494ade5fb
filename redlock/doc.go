// Package redlock is the Redlock algorithm: a lock with an expiry, kept on a majority of N independent stores. It is
// written to be read in this order: what a node is asked (node.go), how votes are counted (vote.go), acquire and
// validity (acquire.go), release (release.go), extension and watch (extend.go).
//
// # The algorithm
//
// [Redlock.Acquire] draws a random token and asks all N nodes at once to store it at the key, for a TTL, if there is no
// key. The lock is acquired when N/2+1 nodes have said yes and
//
//	validity = TTL - elapsed - TTL*drift - 2ms
//
// is positive, where elapsed counts from before the first node was asked. What the lock guards must be left alone when
// validity is over: [Lease.Watch] extends the lease in time, and otherwise ends a context before that. A failed
// attempt is released on all nodes, and repeated with a new token after a random delay.
//
// # The rules
//
// Whatever the lock does because it is unsafe or stuck without it is a [Rule]. It can be switched off, to teach what
// it is for. Its reason and source stand beside the code that applies it.
//
// # Late answers
//
// A grant returns at the majority's yes, and the node timeout ends an attempt, while slower nodes are still being
// asked. Each is released after its answer, so that no SET lands after its own release and leaves a key that nobody
// owns.
//
// # What it does not promise
//
// Mutual exclusion rests on assumptions that no client can check:
//
//   - Nodes remember. One that restarts without its keys, fails over, evicts or is flushed lets a second client in.
//     Package guard helps against restarts alone.
//   - Clocks run at nearly one rate: the drift factor is set aside, and no jump.
//   - The holder stops in time. One that is suspended past its validity does not know it. If the data must
//     survive that, the store has to check a fencing token: Redlock issues none (Kleppmann, "How to do distributed
//     locking").
//   - All clients use the same list of nodes.
//
// The lock is neither reentrant nor fair, and makes no progress while partitions never end.
//
// # Nodes
//
// A [Node] is any store that compares and sets. Package server has Redis behind it; packages batch, native and guard
// make that faster and safer, and redlockotel observes it.
package redlock
