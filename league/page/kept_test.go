package main

import (
	"path/filepath"
	"reflect"
	"testing"

	"example.com/league"
)

// A lock that this run skipped keeps its cells, its version and its costs.
func TestRecall_FillsInLocksThatDidNotRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), keptFile)
	cells := map[string]cell{columns[0].Title: {Mark: right, Words: "2 as expected"}}
	if err := save(path, archive{"lock": {Version: "abc", Cells: cells, Cost: &league.Cost{Pairs: 7}}}); err != nil {
		t.Fatal(err)
	}
	all, err := read[archive](path)
	if err != nil {
		t.Fatal(err)
	}
	idle := &entry{Lock: league.Lock{Test: "lock"}}
	all.recall(idle)
	if got := idle.cell(columns[0]); got != cells[columns[0].Title] || !idle.ran || idle.Version != "abc" ||
		idle.Cost.Pairs != 7 {
		t.Errorf("a lock that did not run: %+v, %+v", got, idle)
	}
	if got := idle.cell(columns[1]); got.Mark != nothing {
		t.Errorf("a column that showed nothing: %+v", got)
	}
	all.keep(idle)
	if !reflect.DeepEqual(all["lock"].Cells, cells) {
		t.Errorf("kept: %+v", all["lock"])
	}
	ran := &entry{Lock: league.Lock{Test: "lock"}, Version: "def", rows: map[string]ranRow{"slow-acquire": {}}}
	all.recall(ran)
	if ran.before != nil || ran.Version != "def" {
		t.Errorf("a lock that ran: %+v", ran)
	}
}
