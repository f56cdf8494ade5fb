// Package guard ignores votes of Redis servers that must not vote: one that is listed under two names and, with
// Options.Longest, one that has restarted and may have forgotten a key.
//
//	nodes, err := server.Nodes(clients, guard.Servers(guard.Options{Longest: 30 * time.Second}))
//
// Both send INFO server in the same write as a SET and ahead of it, so that the server which carries out the SET also
// answers INFO: for the run id until it is known, and for the uptime on each new connection. Later SETs cost nothing
// more.
//
// The restart guard does not help where keys are lost without a restart: FLUSHALL, eviction, a promoted replica, a
// virtual machine restored from a snapshot. Nor does it help where a proxy keeps connections open over a restart,
// several servers share one address, or a server's wall clock, which counts uptime, is stepped forward after its
// start, unless this client used the server until it restarted.
package guard
