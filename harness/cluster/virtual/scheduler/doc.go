// Package scheduler owns time and order in virtual time: everything that happens to a run is
// an event of one queue, and one event happens at a time. Events of one instant happen in
// the order of their keys, never in the order in which goroutines happened to add them.
package scheduler
