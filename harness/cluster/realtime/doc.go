// Package realtime is the true clock of a run in real time: the host's
// CLOCK_MONOTONIC, which all processes of a machine share, containers too.
package realtime
