// Package traffic judges what the links of a run carried, from the raw events of
// its history and nothing that package checker derives from them.
//
// Each key on each node is a register with expiry on the node's own clock: the
// commands that reached the node and its answers have to be linearizable under SET
// NX, compare-and-delete and compare-and-expire (redis.io, "Correct implementation
// with a single instance"), with restarts, flushes and the looks into the node known.
// So is each register at the store that the lock guards, with the fencing tokens or the
// versions that it compares. That proves the cluster, run by run. And whoever believes
// in a lease has to have the yes of as many nodes as the lock says that it needs ("The
// Redlock algorithm", step 3).
//
// What does not fit is a [Finding]: about the cluster or our recording of it, or about
// the lock.
package traffic
