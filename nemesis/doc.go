// Package nemesis injects faults into clusters: one kind per file, and the seeded schedule of them. A fault proves its
// effect: the history has the requested and the measured values.
package nemesis
