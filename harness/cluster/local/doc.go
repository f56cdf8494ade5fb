// Package local is a cluster of real redis-server processes on loopback. Each
// client is a process of its own, and toxiproxy's links, embedded, are the
// network between each client and each server. Time is real.
//
// Nothing outlives a run: Close ends every process and removes every file; a
// harness that is killed takes its children with it (on Linux); and what is
// left behind all the same, Clean finds by its records and removes.
package local
