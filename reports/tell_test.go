package reports

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/golden"
	"example.org/lockproof/reports/terminal"
	"example.org/lockproof/scenarios"
)

// catalogueStory is a violation of the catalogue with its history and its story.
type catalogueStory struct {
	name string
	*History
	violation *checker.Violation
	story     Story
}

// catalogue runs every row that expects a violation in virtual time. It makes a story of the first violation of each
// property.
var catalogue = sync.OnceValues(func() ([]catalogueStory, error) {
	all, err := scenarios.Select(nil)
	if err != nil {
		return nil, err
	}
	o := suite.Options{Cluster: suite.Virtual, Trials: 1, Seed: 1, Parallel: 2, Events: true}
	jobs, err := o.Jobs(all)
	if err != nil {
		return nil, err
	}
	jobs = slices.DeleteFunc(jobs, func(j suite.Job) bool { return !expectsViolation(j) })
	trials, err := suite.Run(context.Background(), jobs, o, func(suite.Result) {})
	if err != nil {
		return nil, err
	}
	var stories []catalogueStory
	for _, t := range trials {
		if t.Skipped != "" {
			continue
		}
		h, err := NewHistory(t.Events)
		if err != nil {
			return nil, err
		}
		for _, r := range t.Results {
			if len(r.Violations) > 0 {
				v := &r.Violations[0]
				stories = append(stories, catalogueStory{rowName(t), h, v, h.Tell(v)})
			}
		}
	}
	return stories, nil
})

func rowName(t suite.Result) string {
	return New([]suite.Result{t}, Run{}).Rows[0].Name()
}

// expectsViolation reports whether a row expects a violation.
func expectsViolation(j suite.Job) bool {
	for _, property := range checker.Names() {
		expected := j.Scenario.Expect[property]
		for _, v := range j.Scenario.Variants {
			if own := v.Expect[property]; v.Name == j.Variant && own != "" {
				expected = own
			}
		}
		if expected == history.Violated {
			return true
		}
	}
	return false
}

// Each sentence of a story belongs to an event of the history: it has the event's time and names the affected
// processes. Sentences without an event are at the end of a lease or a key. All are in time order.
func TestStories_MatchTheirHistories(t *testing.T) {
	stories, err := catalogue()
	require.NoError(t, err)
	require.Greater(t, len(stories), 30)
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			turning := 0
			for i, m := range s.story.Marks {
				if i > 0 {
					require.LessOrEqual(t, s.story.Marks[i-1].Time, m.Time, "sentence %d comes too late", i+1)
				}
				if m.Turning {
					turning++
				}
				requireMatch(t, s, m)
			}
			require.Zero(t, turning, "no experiment has been made")
			require.LessOrEqual(t, len(s.story.Marks), maxTurns)
		})
	}
}

// requireMatch compares a sentence with its history.
func requireMatch(t *testing.T, s catalogueStory, m Mark) {
	t.Helper()
	if m.Event == NoEvent {
		var ends []string
		for _, l := range s.Leases() {
			ends = append(ends, fmt.Sprint(l.Client, l.Until))
		}
		for _, owned := range s.Ownerships() {
			ends = append(ends, fmt.Sprint(owned.Node, owned.Until))
		}
		require.Contains(t, ends, fmt.Sprint(m.Process, m.Time), "%q", m.Text)
		return
	}
	e := s.Events[m.Event]
	require.Equal(t, e.Time, m.Time, "%q", m.Text)
	names := []string{e.Process}
	if e.Fault != nil {
		names = e.Fault.Targets
	}
	if client, node, isLink := strings.Cut(e.Process, ">"); isLink {
		names = []string{client, node}
	}
	for _, name := range names {
		require.Contains(t, m.Text, name)
	}
}

// The sentence of a grant that breaks mutual exclusion states the overlap as the checker does.
func TestStories_MutualExclusionBroken_StateTheOverlap(t *testing.T) {
	stories, err := catalogue()
	require.NoError(t, err)
	for _, s := range stories {
		if len(s.violation.Leases) < 2 {
			continue
		}
		i := slices.IndexFunc(s.story.Marks, func(m Mark) bool { return strings.Contains(m.Text, "both hold the lock for") })
		require.GreaterOrEqual(t, i, 0, "%s: no sentence tells of the overlap", s.name)
		require.Equal(t, s.violation.From, s.story.Marks[i].Time, s.name)
		overlap := timeText(s.violation.Until - s.violation.From)
		require.Contains(t, s.story.Marks[i].Text, "both hold the lock for "+overlap, s.name)
	}
}

func TestTenStories(t *testing.T) {
	stories, err := catalogue()
	require.NoError(t, err)
	chosen := []string{
		"client-pause", "clock-jump-forward", "slow-acquire (without ElapsedCheck)", "restart-without-persistence",
		"rdb-only", "half-is-not-majority (without Majority)", "late-release (without FreshToken)",
		"release-by-plain-del (without CompareAndDelete)", "extend-on-minority (without ExtendMajority)",
		"lost-reply (without ReleaseEverywhere)",
	}
	var b strings.Builder
	seen := map[string]bool{} // only the first property of a run has its story here
	for _, s := range stories {
		if slices.Contains(chosen, s.name) && !seen[s.name] {
			seen[s.name] = true
			fmt.Fprintf(&b, "%s\n%s\n", s.name, s.story.Draw(terminal.Screen{Width: 100}))
		}
	}
	require.Len(t, seen, len(chosen), "a scenario of the list is not in the catalogue any more")
	golden.Require(t, "testdata/stories.golden", b.String())
}
