// Package exercise has a learner build the lock rule by rule: each choice is a rule of the
// reference, kept or left out, and the harness looks for the schedule that breaks what was
// built, among the catalogue's first and then among those that package explore draws.
package exercise
