package explore

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/needs"
	"example.org/lockproof/scenarios"
)

// The files in testdata once showed violations of the reference lock. Each was a mistake of the checker or of the
// reference, and is fixed.
func TestSituations_ReferencePasses(t *testing.T) {
	p := pool(t)
	files, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		read, err := scenarios.Load(file)
		require.NoError(t, err)
		// the last six belong to finds that need their own seed
		for _, seed := range []uint64{0, 1, 2, 5169, 33201, 177064, 222236, 263664, 637044} {
			r := p.Try(t.Context(), suite.Job{Scenario: read}, seed)
			require.Empty(t, r.Failure)
			for _, result := range r.Results {
				require.NotEqual(t, history.Violated, result.Verdict, "%s: %s", file, result.Property)
			}
			for property := range read.Expect {
				if own, needed := requiredSeed[filepath.Base(file)]; needed && seed != own {
					continue
				}
				require.Equal(t, history.Holds, checker.Verdict{Results: r.Results}.Of(property).Verdict, file)
			}
		}
	}
}

// requiredSeed is the only seed with which a file's faults affect anything.
var requiredSeed = map[string]uint64{"late-set-of-a-paused-node.yaml": 637044}

func TestFindName_IsScenarioName(t *testing.T) {
	for lock, name := range map[string]string{
		"redsync":                          "mutual-exclusion-of-redsync-7",
		"go-redsync/redsync, deadlines on": "mutual-exclusion-of-go-redsync-redsync-deadlines-on-7",
		" My Lock -- v2 (new) ":            "mutual-exclusion-of-my-lock-v2-new-7",
	} {
		s := Search{Question: Question{Space: Space{Lock: lock}}}
		var f Find
		f.Property, f.Number = "mutual-exclusion", 7
		require.Equal(t, name, s.Name(f))
		_, err := scenarios.Parse(name+".yaml", []byte("name: "+name+`
title: A title
source: A source
lesson: A lesson.
clients: [c1]
script: [{acquire: c1}]
expect: {mutual-exclusion: holds}
`))
		require.NoError(t, err)
	}
}

// Each situation shows a violation if its rule is off, and none otherwise.
func TestSituations_LivenessFaults(t *testing.T) {
	needs.Long(t, "it searches once for each situation")
	p := pool(t)
	for rule, situation := range map[string]func(*generator){"RetryJitter": (*generator).addCompetitors,
		"BoundedExtensions": (*generator).keepRunning} {
		shown := 0
		for seed := range uint64(30) {
			s := space(t, nil)
			d := s.newGenerator(seed)
			situation(d)
			d.out.normalize()
			for _, off := range [][]string{nil, {rule}} {
				s.Without = off
				r := p.Try(t.Context(), s.job(d.out), seed)
				require.Empty(t, r.Failure)
				for _, property := range s.violated(r) {
					require.Equal(t, []string{rule}, off, "seed %d: %s", seed, property)
					if property == checker.DeadlockFreedom {
						shown++
					}
				}
			}
		}
		require.Positive(t, shown, rule)
	}
}

// shrunk shrinks a find whose schedules all show a violation, of the kinds that experiments show.
func shrunk(ctx context.Context, t *testing.T, kinds func(job suite.Job) []string, drawn ...scenarios.Verb) []Step {
	s := Search{Question: Question{Space: space(t, nil)}, Shrink: time.Minute}
	s.Try = func(context.Context, suite.Job, uint64) suite.Result { return mutualExclusion(history.Violated) }
	s.Kinds = func(_ context.Context, job suite.Job, _ uint64, _ string) ([]string, error) { return kinds(job), nil }
	f := Find{FindID: FindID{checker.MutualExclusion, "pause"}, Drawn: &Schedule{TTL: time.Second, Nodes: 3, Clients: 1}}
	for _, verb := range drawn {
		f.Drawn.Steps = append(f.Drawn.Steps, Step{Step: scenarios.Step{Verb: verb, Targets: []string{"c1"}}})
	}
	s.ShrinkFind(ctx, &f)
	return f.Shrunk.Steps
}

// Shrinking keeps the defect: a smaller schedule that shows another one does not replace the find.
func TestShrinkFind_SmallerScheduleNeedsTheSameFaults(t *testing.T) {
	count := func(job suite.Job, verb scenarios.Verb) (n int) {
		for _, step := range job.Scenario.Script {
			if step.Verb == verb {
				n++
			}
		}
		return n
	}
	left := shrunk(t.Context(), t, func(job suite.Job) []string {
		if count(job, "pause") > 0 && count(job, scenarios.VerbAcquire) == 1 {
			return []string{"pause"}
		}
		return nil // with more acquires, another defect shows without a fault
	}, scenarios.VerbAcquire, scenarios.VerbRelease, "pause")
	require.Len(t, left, 2)
	require.Equal(t, scenarios.Verb("pause"), left[1].Verb)
}

// Interrupted experiments show nothing, so that no schedule is taken for a smaller one with the same defect.
func TestShrinkFind_InterruptedWhileItIdentifies_KeepsTheSchedule(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	require.Len(t, shrunk(ctx, t, func(suite.Job) []string {
		interrupt()
		return []string{"pause"}
	}, "pause", "pause", "pause"), 3)
}
