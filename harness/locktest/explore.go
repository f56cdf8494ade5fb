package locktest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"example.org/lockproof/checker"
	"example.org/lockproof/explore"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/scenarios"
)

// exploredTTL is the TTL in drawn schedules, unless the option TTL sets another.
const exploredTTL = time.Second

// runExplore draws schedules in a subtest, until the time is over or one breaks the lock.
func (r *run) runExplore(t *testing.T) {
	if r.explore == 0 {
		return
	}
	t.Run("explore", func(t *testing.T) {
		if r.hung >= maxHung {
			t.Skipf("not run: %d trials have hung", r.hung)
		}
		r.search(t)
	})
}

// search runs one search and reports its result.
func (r *run) search(t *testing.T) {
	pool, err := r.children.Pool(suite.Options{
		Cluster: suite.Virtual, Choice: cluster.Choice{Server: r.server}, Lock: r.name})
	if err != nil {
		t.Fatalf("locktest.Explore: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	// The first trial whose process fails ends the search: trials that hang would use up its time.
	var died *suite.Result
	var dies sync.Once
	try := func(ctx context.Context, job suite.Job, seed uint64) suite.Result {
		done := pool.Try(ctx, job, seed)
		if done.Failure != "" && ctx.Err() == nil {
			dies.Do(func() { died = &done; stop() })
		}
		return done
	}
	s := explore.Search{
		Question: explore.Question{Space: explore.Space{Lock: r.name, TTL: r.ttl, Properties: r.properties}, Seed: r.seed,
			Enough: 1},
		For: r.explore, Shrink: r.explore, Try: try, Parallel: pool.Size(),
	}
	if s.Space.TTL == 0 {
		s.Space.TTL = exploredTTL
	}
	tally, err := s.Run(ctx)
	r.children.Close() // children of cancelled trials are not usable
	if err != nil {
		t.Fatalf("locktest.Explore: %v", err)
	}
	t.Log(s.Summary(tally))
	source := []string{"found by locktest.Explore"}
	switch {
	case len(tally.Finds) > 0:
		f := tally.Finds[0]
		found := s.Scenario(f)
		found.Lock.Name, found.Source = "", source
		r.rerun(t, explore.Text(found), f.Seed, "broke "+f.FindID.String())
	case died != nil:
		drawn := s.Space.Draw(died.Seed).Scenario("explored", map[string]string{checker.MutualExclusion: history.Holds})
		drawn.Title, drawn.Source, drawn.Lesson = "A schedule that the lock fails in", source, "It is to end."
		r.rerun(t, explore.Text(drawn), died.Seed, "failed: "+died.Failure)
	case tally.Schedules == tally.Refused:
		t.Skip("the lock refused to be set up as any of the schedules asks for")
	}
}

// rerun runs a found schedule once more, which reports and records it.
func (r *run) rerun(t *testing.T, text []byte, seed uint64, what string) {
	path := filepath.Join(r.folder, "found.yaml")
	s, err := writeScenario(path, text)
	if err != nil {
		t.Fatalf("locktest.Explore: a schedule %s, and cannot be written down: %v", what, err)
	}
	job := suite.Job{Scenario: s, Lock: r.name, AllowBetter: true}
	r.trial(t, job, seed, true)
	if !t.Failed() {
		t.Errorf("%s\na schedule %s, and did not when it was run again: something in the lock differs from run to run, "+
			"such as tokens "+
			"that are not from Env.Rand", r.record(job, seed, what), what)
	}
}

// writeScenario writes a scenario's file and loads it.
func writeScenario(path string, text []byte) (*scenarios.Scenario, error) {
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return nil, err
	}
	return scenarios.Load(path)
}
