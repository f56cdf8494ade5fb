// Package client is one client of the lock: it executes commands, keeps its leases, and reports every step as history
// events. In virtual time it runs in goroutines of the harness. In real time it is a process that exchanges JSON lines
// on stdin and stdout (docs/client-protocol.md), so that a pause is a real SIGSTOP.
package client
