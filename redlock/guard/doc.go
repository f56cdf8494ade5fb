// Package guard keeps Redis servers from voting that must not: one that is listed twice under two names, and, if
// asked to, one that has restarted and may have forgotten a key.
//
//	nodes, err := server.Nodes(clients, guard.Servers(guard.Options{Longest: 30 * time.Second}))
//
// Both ask INFO server, in the same write as a SET and ahead of it, so that the server which carries out the SET is
// the one that answers: for the run id until it is known, and for the uptime on each new connection. A lock costs
// nothing more.
//
// The restart guard does not help where keys are lost without a restart: FLUSHALL, eviction, a replica that takes
// over, a virtual machine that is put back to a snapshot; nor where a proxy keeps connections open over a restart,
// several servers are behind one address, or a server's wall clock, by which uptime is counted, is stepped forward
// after its start, unless this client used the server until it restarted.
package guard
