// Package checker judges a history. It is pure: events in, verdicts out; no clock, no network, no files. It does not
// know which cluster a history came from.
//
// A history passes these stages:
//   - a reader makes a record of operations, leases, faults and clocks; the timeline adds the owners of keys on nodes;
//   - the record is completed with what several properties need;
//   - each property's judge finds the violations; where a property has a second oracle, the two must agree;
//   - facts explain each violation: overlaps, losses, waits, leftover keys, writes;
//   - needsAllNodes, vacuity and run health make a verdict inconclusive if the run cannot prove it.
package checker
