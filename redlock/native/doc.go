// Package native has nodes use their servers' own commands to compare and act, in place of scripts: DELEX and SET
// IFEQ of Redis 8.4, DELIFEQ and SET IFEQ of Valkey 9.0.
//
//	nodes, err := server.Nodes(clients, native.Commands)
//
// They take half of the servers' work, and do for servers or users that may run no scripts. A node learns which
// server it is by INFO, in the same write as a SET, and goes back to scripts if it is refused.
package native
