// Package scheduler owns time and order in virtual time. All events of a run are in one queue and happen one at a time.
// Events of one instant happen in the order of their keys, never in the order of goroutines.
package scheduler
