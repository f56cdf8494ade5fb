// Package exercise lets a learner build the lock rule by rule. Each choice keeps or omits a rule of the reference. The
// harness searches for a schedule that breaks the result, first in the catalogue and then among schedules of package
// explore.
package exercise
