// Package harness is the folder of what makes one run, from a scenario to its
// history; it has no code of its own. From the floor up: history (the events),
// locks (what is under test), client (who uses them), cluster (the servers and the
// network), and suite, which runs trials with all of these and which none of them
// knows.
package harness
