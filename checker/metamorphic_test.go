package checker

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// A verdict does not depend on the start time of a run, on the names of its processes, or on the order of unrelated
// events at one time. A history that is cut short earns nothing.
func TestInventedRuns_NamesOrderAndStart_AreIrrelevant(t *testing.T) {
	runs := uint64(1000)
	if testing.Short() {
		runs = 150
	}
	for seed := range runs {
		events := invent(seed).end(0)
		want := judgeDelayed(t, events, 0)
		require.Equal(t, want, judgeDelayed(t, delayed(events, 777*ms), 777*ms), "run %d, later", seed)
		require.Equal(t, want, judgeDelayed(t, renamedProcesses(events, map[string]string{
			"c1": "zed", "c2": "mid", "c3": "abc", "n1": "y", "n2": "b", "n3": "a",
		}), 0), "run %d, with other names", seed)
		require.Equal(t, want, judgeDelayed(t, reordered(events, seed), 0), "run %d, in another order", seed)
		cut, err := check(events[:1+int(seed*7919)%(len(events)-1)])
		require.NoError(t, err)
		for _, r := range cut.Results {
			require.NotEqual(t, history.Holds, r.Verdict, "run %d, cut short: %s", seed, r.Property)
		}
	}
}

// judged is a result without names.
type judged struct {
	property, verdict string
	cause             Cause
	measured          map[string]int64
	violations        []span
}

// judgeDelayed judges events after it has moved them to a later time.
func judgeDelayed(t *testing.T, events []history.Event, late int64) (all []judged) {
	t.Helper()
	v, err := check(events)
	require.NoError(t, err)
	for _, r := range v.Results {
		j := judged{r.Property, r.Verdict, r.Cause, r.Measured, nil}
		for _, v := range r.Violations {
			j.violations = append(j.violations, span{v.From - late, v.Until - late})
		}
		all = append(all, j)
	}
	return all
}

// delayed moves events to a later time.
func delayed(events []history.Event, by int64) []history.Event {
	events = slices.Clone(events)
	for i := range events[1:] {
		e := &events[i+1]
		e.Time += by
		if f := e.Fault; f != nil {
			moved := *f
			if f.Since > 0 {
				moved.Since += by
			}
			moved.SentAt = slices.Clone(f.SentAt)
			for i := range moved.SentAt {
				moved.SentAt[i] += by
			}
			e.Fault = &moved
		}
		if e.Clock != nil {
			moved := *e.Clock
			moved.Reading += by
			e.Clock = &moved
		}
	}
	return events
}

// renamedProcesses gives processes other names.
func renamedProcesses(events []history.Event, names map[string]string) []history.Event {
	name := func(old string) string {
		for _, hyphen := range []string{">", "-"} {
			if from, to, link := strings.Cut(old, hyphen); link {
				return cmp.Or(names[from], from) + hyphen + cmp.Or(names[to], to)
			}
		}
		return cmp.Or(names[old], old)
	}
	all := func(old []string) (renamed []string) {
		for _, o := range old {
			renamed = append(renamed, name(o))
		}
		return renamed
	}
	events = slices.Clone(events)
	for i := range events {
		e := &events[i]
		e.Process = name(e.Process)
		if e.Fault != nil {
			f := *e.Fault
			f.Targets = all(f.Targets)
			e.Fault = &f
		}
		if e.Header != nil {
			h := *e.Header
			h.Clients, h.Nodes = all(h.Clients), all(h.Nodes)
			e.Header = &h
		}
	}
	return events
}

// reordered swaps neighbours that happened at one time to different processes.
func reordered(events []history.Event, seed uint64) []history.Event {
	draw := rand.New(rand.NewPCG(seed, 2))
	events = slices.Clone(events)
	for range 6 {
		for i := 1; i+2 < len(events); i++ {
			a, b := events[i], events[i+1]
			if a.Time == b.Time && draw.IntN(2) == 0 && !slices.ContainsFunc(concerned(a), func(process string) bool {
				return slices.Contains(concerned(b), process)
			}) {
				events[i], events[i+1] = b, a
			}
		}
	}
	return events
}

// concerned are the processes of an event.
func concerned(e history.Event) []string {
	link, isLink := e.Link()
	switch {
	case isLink:
		return []string{link.From, link.To}
	case e.Op == history.OpRead || e.Op == history.OpWrite:
		return []string{e.Process, history.StoreName}
	case e.Fault == nil:
		return []string{e.Process}
	}
	all := []string{e.Process}
	for _, target := range e.Fault.Targets {
		l, _ := history.LinkOf(target)
		all = append(all, target, l.From, l.To)
	}
	return all
}
