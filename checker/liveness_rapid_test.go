package checker

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/harness/history"
)

// A made-up run of a lock that does its duty: two or three clients ask for k1 without a
// pause, one after the other is granted it on all nodes at once, holds it for a while
// and gives it back. From some time on nobody is granted it any more.
type shift struct {
	*story
	clients []string
	asked   map[string]int64 // since when each client asks
	now     int64
	failing bool // attempts of a strike fail, as if the lock split its votes; else they never return
}

func drawShift(t *rapid.T) *shift {
	s := &shift{story: tale(), asked: map[string]int64{}, now: 10, failing: rapid.Bool().Draw(t, "failing")}
	s.drawn = true
	for i := range rapid.IntRange(2, 3).Draw(t, "clients") {
		client := fmt.Sprint("c", i+1)
		s.clients, s.asked[client] = append(s.clients, client), int64(1+i)
	}
	for range rapid.IntRange(2, 6).Draw(t, "grants") {
		s.work(t)
	}
	return s
}

// work is one lease.
func (s *shift) work(t *rapid.T) {
	client := rapid.SampledFrom(s.clients).Draw(t, "winner")
	granted := max(s.now, s.asked[client]) + rapid.Int64Range(2, 100).Draw(t, "gap")
	over := granted + rapid.Int64Range(5, 300).Draw(t, "hold")
	token := fmt.Sprintf("%s.%d", client, s.ids[client]+1)
	s.sets(granted-1, client, token, 1000, s.header.Nodes...)
	id := s.grant(client, s.asked[client], granted, 980)
	s.release(client, id, over, over+2, history.TypeOK)
	s.deletes(over+1, client, token, s.header.Nodes...)
	s.now, s.asked[client] = over+2, over+3
}

// strike has everybody go on asking for so long, and nobody is granted the lock.
func (s *shift) strike(d int64) (events []history.Event) {
	for _, client := range s.clients {
		if asked := s.asked[client]; s.failing {
			s.asksAgain(client, asked, s.now+d-1, 20)
			last := max(asked, s.now+d-1)
			s.attempt(client, last, last+1, history.TypeFail)
		} else {
			s.attempt(client, asked, 0, "")
		}
	}
	return s.end(s.now + d)
}

// sick draws faults on so many nodes, each for a part of the run or for all of it.
func (s *shift) sick(t *rapid.T, nodes int, from, until int64) {
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

// liveness are the verdicts of the properties that ask for something to happen.
func liveness(t *rapid.T, events []history.Event) map[string]string {
	verdict, err := check(events)
	require.NoError(t, err)
	return map[string]string{
		FaultTolerance:  verdict.Of(FaultTolerance).Verdict,
		DeadlockFreedom: verdict.Of(DeadlockFreedom).Verdict,
	}
}

// Whoever asks, of a healthy majority, for longer than the bound, and nobody is granted
// the lock: that is violated, whatever a minority does. As long as it was not so long, it
// is not.
func TestLiveness_RemovedGrantsAreViolated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShift(t)
		bound := min(500*int64(len(s.clients)), 1500)
		long := rapid.Bool().Draw(t, "long")
		d := rapid.Int64Range(0, 490).Draw(t, "short for")
		if long {
			d = bound + 5 + rapid.Int64Range(0, 5000).Draw(t, "long for")
		}
		s.sick(t, rapid.IntRange(0, 2).Draw(t, "minority"), 0, s.now+d)
		verdicts := liveness(t, s.strike(d))
		if long {
			require.Equal(t, history.Violated, verdicts[FaultTolerance])
		} else {
			require.NotEqual(t, history.Violated, verdicts[FaultTolerance])
			require.NotEqual(t, history.Violated, verdicts[DeadlockFreedom])
		}
	})
}

// A further fault on a node is a further excuse: it never makes a violation. On a
// majority, for all of the time, it excuses all.
func TestLiveness_AddedFaultsOnlyExcuse(t *testing.T) {
	outcomes := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := drawShift(t)
		d := rapid.Int64Range(0, 4000).Draw(t, "strike")
		s.sick(t, rapid.IntRange(0, 3).Draw(t, "sick nodes"), 0, s.now+d)
		end := s.now + d
		events := s.strike(d)
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

// A further key of another's lease on a node is an obstacle, which excuses a wait too.
func TestLiveness_AddedKeysOnlyExcuse(t *testing.T) {
	outcomes := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := drawShift(t)
		d := rapid.Int64Range(0, 3000).Draw(t, "strike")
		events := s.strike(d)
		before := liveness(t, events)
		nodes := rapid.IntRange(1, 5).Draw(t, "nodes")
		from := s.now + rapid.Int64Range(0, d).Draw(t, "from")
		for _, node := range s.header.Nodes[:nodes] { // somebody's of whom the history knows nothing
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

// requireOutcomes requires that each came up. Of the few runs of a short test not all may.
func requireOutcomes(t *testing.T, outcomes map[string]int, want ...string) {
	t.Helper()
	for _, outcome := range want {
		if !testing.Short() {
			require.NotZero(t, outcomes[outcome], "%q of %v", outcome, outcomes)
		}
	}
}

// In which order a history tells what happened at different nodes at one time makes no
// difference.
func TestLiveness_NodeOrderIsIrrelevant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShift(t)
		d := rapid.Int64Range(0, 3000).Draw(t, "strike")
		s.sick(t, rapid.IntRange(0, 3).Draw(t, "sick nodes"), 0, s.now+d)
		events := s.strike(d)
		first, err := check(events)
		require.NoError(t, err)
		second, err := check(shuffled(events, rapid.Uint64().Draw(t, "order")))
		require.NoError(t, err)
		for i, r := range first.Results {
			require.Equal(t, r.Verdict, second.Results[i].Verdict, r.Property)
			require.Equal(t, r.Reason, second.Results[i].Reason)
			require.Equal(t, r.Measured, second.Results[i].Measured)
		}
		require.Equal(t, first.Traffic.Count, second.Traffic.Count)
		require.Zero(t, first.Traffic.Count)
	})
}

// shuffled puts what the links say at one time into another order; each link's events
// stay in theirs.
func shuffled(events []history.Event, seed uint64) []history.Event {
	events = slices.Clone(events)
	draw := rand.New(rand.NewPCG(seed, 0))
	rank := map[string]int{}
	for i := range events {
		if events[i].Command != nil && rank[events[i].Process] == 0 {
			rank[events[i].Process] = 1 + draw.IntN(1_000_000)
		}
	}
	for from := 0; from < len(events); {
		until := from
		for until < len(events) && events[until].Time == events[from].Time && events[until].Command != nil {
			until++
		}
		slices.SortStableFunc(events[from:until], func(a, b history.Event) int { return rank[a.Process] - rank[b.Process] })
		from = max(until, from+1)
	}
	return events
}
