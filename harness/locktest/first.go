package locktest

import (
	"context"
	"fmt"
	"path/filepath"

	"lockproof/harness/history"
	"lockproof/harness/locks"
	"lockproof/harness/suite"
	"lockproof/scenarios"
)

// firstScenario is one client that gets the lock and gives it back, with nothing in
// its way.
const firstScenario = `
name: first-lease
title: One client gets the lock and gives it back
source: locktest
lesson: What a lock can do is seen by its first lease.
clients: [c1]
script:
  - acquire: c1
    must: ok
  - release: c1
expect: {mutual-exclusion: holds}
`

// firstLease has the lock granted once, and says what it can do. An error says why
// it was not granted: then there is no use in anything else.
func (r *run) firstLease(ctx context.Context) (*locks.Abilities, error) {
	s, err := scenarios.Parse("", []byte(firstScenario))
	if err != nil {
		return nil, err
	}
	o := r.options(r.seed, filepath.Join(r.folder, "first-lease"))
	o.Events = true
	done, err := r.one(ctx, suite.Job{Scenario: s, Lock: r.name}, o)
	switch {
	case err != nil:
		return nil, err
	case done.Failure != "":
		return nil, fmt.Errorf("the lock fails with nothing in its way: %s", done.Failure)
	case done.Skipped != "":
		return nil, fmt.Errorf("the lock cannot be tried: %s", done.Skipped)
	case done.Shown != nil:
		return done.Shown, nil
	}
	for _, e := range done.Events {
		if e.Op == history.OpAcquire && e.Type == history.TypeFail {
			return nil, fmt.Errorf("the lock was not granted, with nothing in its way and nobody else: %s", e.Error)
		}
	}
	return nil, fmt.Errorf("the lock was not granted, with nothing in its way and nobody else")
}
