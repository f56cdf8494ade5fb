// Package traffic judges the messages on a run's links, from the raw events of its history and nothing that package
// checker derives from them.
//
// Each key on each node is a register with expiry on the node's own clock: commands and replies must be linearizable
// under SET NX, compare-and-delete and compare-and-expire (redis.io, "Correct implementation with a single instance"),
// with known restarts, flushes and looks into the node. So must each register at the store that the lock guards, with
// the fencing tokens or the versions that it compares. That verifies the cluster, run by run. A client with a lease
// must have the yes of as many nodes as the lock declares that it needs ("The Redlock algorithm", step 3).
//
// A contradiction is a [Finding]: about the cluster or our recording of it, or about the lock.
package traffic
