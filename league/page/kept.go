package main

import "example.com/league"

// keptFile is in the league's folder, where the command runs.
const keptFile = "kept.json"

// kept has the results of a lock's last run. They stay on the page until the lock runs again: a run of a few locks
// changes no others.
type kept struct {
	Version string          `json:"version,omitempty"`
	Cells   map[string]cell `json:"cells,omitempty"` // by the column's title, without empty ones
	Cost    *league.Cost    `json:"cost,omitempty"`
}

// archive is in the repository, by the lock's test.
type archive map[string]kept

// recall fills in the results that this run lacks for a lock.
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

// keep records a lock's results.
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
