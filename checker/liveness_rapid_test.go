package checker

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/harness/history"
)

// lockRun is a made-up run of a correct lock: two or three clients request k1 without a pause. One after the other is
// granted it on all nodes at once, holds it for a while and releases it. At some time the grants stop.
type lockRun struct {
	*story
	clients    []string
	waitsSince map[string]int64 // when each client's current request began
	now        int64
	failing    bool // attempts fail after the last grant, as if votes were split; else they never return
}

func drawLockRun(t *rapid.T) *lockRun {
	s := &lockRun{story: newStory(), waitsSince: map[string]int64{}, now: 10, failing: rapid.Bool().Draw(t, "failing")}
	s.drawn = true
	for i := range rapid.IntRange(2, 3).Draw(t, "clients") {
		client := fmt.Sprint("c", i+1)
		s.clients, s.waitsSince[client] = append(s.clients, client), int64(1+i)
	}
	for range rapid.IntRange(2, 6).Draw(t, "grants") {
		s.addLease(t)
	}
	return s
}

// addLease adds one lease.
func (s *lockRun) addLease(t *rapid.T) {
	client := rapid.SampledFrom(s.clients).Draw(t, "winner")
	granted := max(s.now, s.waitsSince[client]) + rapid.Int64Range(2, 100).Draw(t, "gap")
	over := granted + rapid.Int64Range(5, 300).Draw(t, "hold")
	token := fmt.Sprintf("%s.%d", client, s.ids[client]+1)
	s.sets(granted-1, client, token, 1000, s.header.Nodes...)
	id := s.grant(client, s.waitsSince[client], granted, 980)
	s.release(client, id, over, over+2, history.TypeOK)
	s.deletes(over+1, client, token, s.header.Nodes...)
	s.now, s.waitsSince[client] = over+2, over+3
}

// stopGrants lets all clients request the lock for some time without a grant.
func (s *lockRun) stopGrants(d int64) (events []history.Event) {
	for _, client := range s.clients {
		if asked := s.waitsSince[client]; s.failing {
			s.asksAgain(client, asked, s.now+d-1, 20)
			last := max(asked, s.now+d-1)
			s.attempt(client, last, last+1, history.TypeFail)
		} else {
			s.attempt(client, asked, 0, "")
		}
	}
	return s.end(s.now + d)
}

// sick draws faults on that many nodes, each for a part of the run or for all of it.
func (s *lockRun) sick(t *rapid.T, nodes int, from, until int64) {
	shuffled := rapid.Permutation(slices.Clone(s.header.Nodes)).Draw(t, "sick")
	for _, node := range shuffled[:nodes] {
		begin := rapid.Int64Range(from, until).Draw(t, "begin")
		end := rapid.Int64Range(begin, until).Draw(t, "end")
		switch rapid.SampledFrom([]string{"pause", "kill", "cut"}).Draw(t, "fault") {
		case "pause":
			s.lasting(begin, end, "pause", node)
		case "kill":
			s.instant(begin, "kill", node)
			s.instant(end, "start", node)
		case "cut":
			for _, client := range s.clients {
				s.lasting(begin, end, "cut", client+"-"+node)
			}
		}
	}
}

// liveness returns the verdicts of the liveness properties.
func liveness(t *rapid.T, events []history.Event) map[string]string {
	verdict, err := check(events)
	require.NoError(t, err)
	return map[string]string{
		FaultTolerance:  verdict.Of(FaultTolerance).Verdict,
		DeadlockFreedom: verdict.Of(DeadlockFreedom).Verdict,
	}
}

// If clients wait longer than the bound with a healthy majority in reach, it is a violation, whatever a minority of
// nodes does. A shorter wait is none.
func TestLiveness_RemovedGrantsAreViolated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawLockRun(t)
		bound := min(500*int64(len(s.clients)), 1500)
		long := rapid.Bool().Draw(t, "long")
		d := rapid.Int64Range(0, 490).Draw(t, "short for")
		if long {
			d = bound + 5 + rapid.Int64Range(0, 5000).Draw(t, "long for")
		}
		s.sick(t, rapid.IntRange(0, 2).Draw(t, "minority"), 0, s.now+d)
		verdicts := liveness(t, s.stopGrants(d))
		if long {
			require.Equal(t, history.Violated, verdicts[FaultTolerance])
		} else {
			require.NotEqual(t, history.Violated, verdicts[FaultTolerance])
			require.NotEqual(t, history.Violated, verdicts[DeadlockFreedom])
		}
	})
}

// A further fault on a node only excuses more: it never makes a violation. On a majority, for the whole run, it excuses
// everything.
func TestLiveness_AddedFaultsOnlyExcuse(t *testing.T) {
	outcomes := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := drawLockRun(t)
		d := rapid.Int64Range(0, 4000).Draw(t, "strike")
		s.sick(t, rapid.IntRange(0, 3).Draw(t, "sick nodes"), 0, s.now+d)
		end := s.now + d
		events := s.stopGrants(d)
		before := liveness(t, events)
		s.sick(t, rapid.IntRange(1, 3).Draw(t, "more"), 0, end)
		after := liveness(t, s.end(end))
		for _, property := range slices.Sorted(maps.Keys(before)) {
			outcomes[before[property]]++
			if before[property] != history.Violated {
				require.NotEqual(t, history.Violated, after[property], property)
			}
		}
		for _, node := range s.header.Nodes[:3] {
			s.lasting(s.now, end+1, "pause", node)
		}
		for property, verdict := range liveness(t, s.end(end)) {
			require.NotEqual(t, history.Violated, verdict, property)
		}
	})
	requireOutcomes(t, outcomes, history.Violated, history.Holds)
}

// A further key of another client's lease on a node is an obstacle, which excuses a wait, too.
func TestLiveness_AddedKeysOnlyExcuse(t *testing.T) {
	outcomes := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := drawLockRun(t)
		d := rapid.Int64Range(0, 3000).Draw(t, "strike")
		events := s.stopGrants(d)
		before := liveness(t, events)
		nodes := rapid.IntRange(1, 5).Draw(t, "nodes")
		from := s.now + rapid.Int64Range(0, d).Draw(t, "from")
		for _, node := range s.header.Nodes[:nodes] { // keys of a client unknown to the history
			s.look(from, node, "", "stranger", max(1, s.now+d-from))
		}
		after := liveness(t, s.end(s.now+d))
		outcomes[fmt.Sprintf("violated: %v, then %v",
			before[FaultTolerance] == history.Violated, after[FaultTolerance] == history.Violated)]++
		if before[FaultTolerance] != history.Violated {
			require.NotEqual(t, history.Violated, after[FaultTolerance])
		}
		if nodes < 3 {
			require.Equal(t, before[FaultTolerance] == history.Violated, after[FaultTolerance] == history.Violated,
				"a minority is no obstacle")
		}
	})
	requireOutcomes(t, outcomes, "violated: true, then true", "violated: true, then false", "violated: false, then false")
}

// requireOutcomes requires that each outcome occurred. The few runs of a short test may miss some.
func requireOutcomes(t *testing.T, outcomes map[string]int, want ...string) {
	t.Helper()
	for _, outcome := range want {
		if !testing.Short() {
			require.NotZero(t, outcomes[outcome], "%q of %v", outcome, outcomes)
		}
	}
}
