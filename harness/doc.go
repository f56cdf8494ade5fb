// Package harness is the folder of what makes one run, from a scenario to its
// history; it has no code of its own. From the floor up: history (the events),
// locks (what is under test), client (who uses them), cluster (the servers and the
// network), trial (one trial with all of these), and suite, which runs many, and
// which none of them knows.
package harness
