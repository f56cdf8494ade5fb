package main

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/league"
)

// A cross whose scenario this run did not run keeps the story that an earlier one has told. What no cross has any more
// goes, but not before all are told.
func TestStories_KeepWhatEarlierRunsTold(t *testing.T) {
	folder := t.TempDir()
	kept, stale := filepath.Join(folder, "lock-late-set.txt"), filepath.Join(folder, "lock-mended.txt")
	for _, path := range []string{kept, historyOf(kept), stale, historyOf(stale)} {
		if err := os.WriteFile(path, []byte("told"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ran := &cross{Shown: []string{"late-set"}}
	all := &table{entries: []*entry{{Lock: league.Lock{Test: "lock"}, Crosses: []*cross{ran}}}}
	if err := all.stories(folder); err != nil || ran.Story != "lock-late-set.txt" {
		t.Fatalf("story %q, error %v", ran.Story, err)
	}
	for path, want := range map[string]bool{kept: true, historyOf(kept): true, stale: false, historyOf(stale): false} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s is there: %t", path, err == nil)
		}
	}
}
