package main

import "example.com/league"

// keptFile is in the league's folder, where the command is run.
const keptFile = "kept.json"

// kept is what the last run of a lock came to. It stays on the page until the lock is run again: a run
// of a few locks leaves the others as they are.
type kept struct {
	Version string          `json:"version,omitempty"`
	Cells   map[string]cell `json:"cells,omitempty"` // by the column's title, those that show something
	Cost    *league.Cost    `json:"cost,omitempty"`
}

// archive is in the repository, by the lock's test.
type archive map[string]kept

// recall fills in what this run does not say of a lock.
func (a archive) recall(e *entry) {
	before := a[e.Test]
	if len(e.rows) == 0 {
		e.before = before.Cells
		e.ran = e.ran || len(before.Cells) > 0
	}
	if e.Version == "" || len(e.rows) == 0 && before.Version != "" {
		e.Version = before.Version
	}
	if e.Cost == nil {
		e.Cost = before.Cost
	}
}

// keep takes what a lock came to.
func (a archive) keep(e *entry) {
	if !e.ran {
		return
	}
	now := kept{Version: e.Version, Cells: map[string]cell{}, Cost: e.Cost}
	for _, c := range columns {
		if at := e.cell(c); at.Mark != nothing {
			now.Cells[c.Title] = at
		}
	}
	a[e.Test] = now
}
