package main

import (
	"cmp"
	"fmt"
	"slices"

	"example.com/league"
	"example.org/lockproof/harness/suite"
)

// column is a kind of failure, in the words of a lock's user.
type column struct {
	Title     string
	scenarios []string
}

// columns cover the catalogue. The last one has the scenarios that no other names.
var columns = []column{
	{"a reply comes late", []string{"slow-acquire", "pause-in-acquire", "extend-too-late", "late-extension", "short-ttl"}},
	{"the release of a failed attempt comes late", []string{"late-release"}},
	{"a late holder releases or extends", []string{
		"release-by-plain-del", "release-by-get-then-del", "extend-without-owner", "extend-on-minority"}},
	{"it renews itself, and is cut off", []string{"told-too-late", "not-told", "watchdog-cut-off"}},
	{"it renews itself for a hung holder", []string{"endless-extension"}},
	{"a reply is lost, or a SET lands late", []string{"lost-reply", "resent-set", "late-set"}},
	{"a client dies", []string{"setnx-then-expire", "holder-crashes", "holder-partitioned"}},
	{"acquire and release, no fault", []string{"given-back", "healthy-contention"}},
	{"one server hangs or is down",
		[]string{"hung-node", "hung-node-later", "minority-down", "partition-during-contention",
			"script-busy", "script-blocks"}},
	{"a server comes back",
		[]string{"delayed-restart", "majority-crash-delayed", "majority-down", "asked-once", "rolling-restart",
			"maintenance-restart"}},
	{"many clients at once", []string{"retry-without-jitter", "opposite-order", "sequential-acquire"}},
	{"clocks differ a little", []string{"drift-within-margin", "slow-client-within-margin", "client-wall-clock"}},
	{"the caller gives up", []string{"cancelled-acquire", "cancelled-wait"}},
	{"two threads share the lock object", []string{"shared-lock-object", "shared-contention"}},
	{"the holder is paused", []string{"client-pause", "pause-after-check", "token-check-and-set", "client-pause-fenced"}},
	{"the rest of the catalogue", nil},
}

// of reports whether a scenario belongs to a column.
func (c column) of(name string) bool {
	if c.scenarios != nil {
		return slices.Contains(c.scenarios, name)
	}
	return !slices.ContainsFunc(columns, func(o column) bool { return slices.Contains(o.scenarios, name) })
}

// cell is a lock's result in one column.
type cell struct {
	Mark  string `json:"mark"`
	Words string `json:"words"`
	Story string `json:"story,omitempty"`
}

const (
	wrong   = "✗"
	depends = "(✗)"
	unsure  = "?"
	right   = "✓"
	nothing = "–"
)

// hangs reports whether a lock is known not to return.
func (e *entry) hangs() bool {
	return slices.ContainsFunc(e.Findings, func(f league.Finding) bool { return f.Hangs })
}

// cell returns the worst known result.
func (e *entry) cell(c column) cell {
	if e.before != nil {
		return cmp.Or(e.before[c.Title], cell{Mark: nothing, Words: showedNothing})
	}
	var own, other *cross
	for _, x := range e.Crosses {
		if slices.ContainsFunc(x.Shown, c.of) {
			if x.counts() && own == nil {
				own = x
			}
			other = x
		}
	}
	switch {
	case own != nil:
		return cell{wrong, own.What, own.Story}
	case other != nil:
		return cell{depends, other.What, other.Story}
	}
	held, open := 0, 0
	for name, row := range e.rows {
		switch {
		case !c.of(name):
		case row.Standing == suite.HarnessError && e.hangs():
		case differs(row.Standing):
			open++
		case row.Standing == suite.AsExpected:
			held++
		}
	}
	switch {
	case open > 0:
		return cell{unsure, "something differed, and its cause is not confirmed: no cross is published", ""}
	case held > 0:
		return cell{right, fmt.Sprintf("%d as expected", held), ""}
	}
	return cell{nothing, showedNothing, ""}
}

const showedNothing = "not run, not applicable, or it showed nothing"
