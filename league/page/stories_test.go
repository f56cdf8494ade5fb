package main

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/league"
)

// The cross's scenario did not run this time. The stale story has no cross.
func TestStories_KeepStoriesOfEarlierRuns(t *testing.T) {
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
