// Package nemesis breaks clusters: faults, one kind to a file, and the seeded
// schedule that fires them. A fault proves that it took effect: what was asked
// for and what was measured stand side by side in the history.
package nemesis
