// Package native replaces scripts by servers' own commands that compare and act: DELEX and SET IFEQ of Redis 8.4,
// DELIFEQ and SET IFEQ of Valkey 9.0.
//
//	nodes, err := server.Nodes(clients, native.Commands)
//
// They halve the servers' work, and suit servers or users that may not run scripts. A node identifies its server by
// INFO, in the same write as a SET, and returns to scripts if a command is refused.
package native
