// Package client is the work of one client of the lock: it carries out
// commands, keeps its leases, and reports every step as history events. In
// virtual time it is a goroutine of the harness; otherwise it is a process of
// its own that speaks JSON lines on stdin and stdout (docs/client-protocol.md),
// so that a pause is a real SIGSTOP.
package client
