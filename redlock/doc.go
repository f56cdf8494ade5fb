// Package redlock is the Redlock algorithm on go-redis v9: a lock with an
// expiry, kept on a majority of independent Redis servers.
//
// # The algorithm
//
// [Redlock.Acquire] sends
//
//	SET key token NX GET PX ttl
//
// to all N nodes at once (Redis 7.0 or later: before that NX and GET exclude
// each other). The token is 20 fresh random bytes. A nil reply means that the
// node had no such key and took ours; our own token means that an earlier
// sending of the same command, repeated by the client library, did; any other
// value is another holder's token. The lock is acquired when N/2+1 nodes took
// the key and
//
//	validity = ttl - elapsed - ttl*drift - 2ms
//
// is positive, where elapsed runs from before the first SET was sent. Whoever
// holds the [Lease] must have stopped its work when the validity is over;
// [Lease.Watch] extends the lease in time, and otherwise ends a context before
// that happens. An attempt that fails is taken back on every node, and
// repeated after a random delay.
//
// # The rules
//
// Everything that the lock does because it is unsafe or stuck without it is a
// [Rule] with a reason and a source, and can be switched off by name with
// [Without]: to teach what the rule is for, and to test the tool that looks for
// violations. [Rules] lists them.
//
// # Late answers
//
// A grant returns as soon as a majority has said yes, and the node timeout ends
// an attempt whatever the timeouts of the go-redis client are. So calls to slow
// nodes may be under way when Acquire returns. They belong to the lease, or to
// the background clean-up of the failed attempt: each is awaited, and the
// release is sent to that node after it, so that no SET lands after its own
// release and leaves a key that nobody owns. [Redlock.Close] waits for all that
// is still under way.
//
// # Many callers
//
// The callers of one [Redlock] share the way to each node. A command that finds
// no other under way goes at once; those that come meanwhile wait for its end,
// for a millisecond or so ([WithBatchWait]), and go together in one pipeline. So
// one Redlock for all of a process is faster than one for each caller. The wait
// grows where exchanges pile up, and doubles where none is answered: a node that
// is overwhelmed is not flooded with new connections. One that hangs is not asked
// again, either, while it owes an answer to as many attempts as anybody can wait
// for: it costs a bounded number of connections and goroutines, however often the
// callers try.
//
// # What it does not promise
//
// Mutual exclusion holds on assumptions that no client can check:
//
//   - Nodes remember. A server that restarts without its keys, fails over to an
//     asynchronous replica, evicts a key or is flushed lets a second client in.
//     Persist with appendfsync always, keep a crashed server away for longer
//     than the longest TTL in use, or have the lock do that ([WithRestartGuard]),
//     which helps against restarts alone.
//   - Clocks run at nearly one rate. The margin covers the drift factor
//     ([WithDrift], 1 % of the TTL unless set) and no more, and no clock jump of
//     a server.
//   - The holder stops in time. A process that is suspended past its validity
//     does not know it. Where the data must survive that, the store has to
//     check a fencing token or compare before it sets; Redlock issues no fencing
//     tokens, and its own tokens have no order (Kleppmann, "How to do distributed
//     locking").
//   - All clients use the same list of nodes.
//
// The lock is not reentrant and not fair. It gives no guarantee of progress
// beyond its TTL when partitions never end ("Liveness arguments" on the redis.io
// page).
//
// # Clients
//
// Nodes are go-redis clients of independent masters, one for each. For a lock,
// [github.com/redis/go-redis/v9.Options] should have ContextTimeoutEnabled true
// (otherwise a call to a hung server lasts for ReadTimeout, whatever the
// context says) and MaxRetries -1 (a repeated release whose first reply was lost
// reports that there was nothing left to delete). The lock is safe with the
// defaults too: it only takes longer to clean up.
package redlock
