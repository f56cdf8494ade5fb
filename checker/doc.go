// Package checker judges a history. It is pure: events in, verdicts out; no
// clock, no network, no files. It does not know which cluster a history came
// from.
//
// A history goes through these hands:
//   - a reader makes a record of it: operations, leases, faults, clocks; and the
//     timeline adds who owned which key on which node;
//   - an analysis is that record with what several properties need of it;
//   - each property's judge finds the violations, and a second oracle agrees or not;
//   - facts are told of them: overlaps, losses, waits, orphans, writes;
//   - vacuity and run health say whether the run was able to show what it seems to.
package checker
