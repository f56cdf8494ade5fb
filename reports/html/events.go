package html

import (
	"cmp"
	"slices"
	"strings"

	"lockproof/checker"
	"lockproof/harness/history"
	"lockproof/reports"
)

// maxEvents is how many events of a trial the page lists; the file has all.
const maxEvents = 48

// eventTable is the accessible twin of a timeline.
type eventTable struct {
	ID     string
	Rows   []eventRow
	Before int // events of the history that are left out, by where they are
	Within int
	After  int
}

type eventRow struct {
	Index             int // in the history
	A                 int64
	Time, Who         string
	What, Detail      string
	Turn              int // the number of the story's sentence about it, or 0
	Turning, Violates bool
}

// list makes the table of a story's events: all in its window if they are few,
// else those about its key and its cast, and then those nearest to where it
// went wrong.
func list(id string, events []history.Event, s *reports.Story, v *checker.Violation) *eventTable {
	t := &eventTable{ID: id}
	var chosen []int
	for i, e := range events {
		switch {
		case e.Type == history.TypeHeader:
		case e.Time < s.From:
			t.Before++
		case e.Time > s.Until:
			t.After++
		default:
			chosen = append(chosen, i)
		}
	}
	turns := map[int]int{}
	for i, m := range s.Marks {
		if m.Event != reports.NoEvent {
			turns[m.Event] = i + 1
		}
	}
	shown := nearest(chosen, events, s, v, turns)
	t.Within = len(chosen) - len(shown)
	for _, i := range shown {
		t.Rows = append(t.Rows, row(i, events[i], s, v, turns[i]))
	}
	return t
}

func row(i int, e history.Event, s *reports.Story, v *checker.Violation, turn int) eventRow {
	r := eventRow{Index: i, A: e.Time - s.From, Time: reports.Moment(e.Time), Who: e.Process, Turn: turn}
	r.What, r.Detail = reports.Describe(e)
	if v != nil {
		r.Turning = slices.ContainsFunc(s.Marks, func(m reports.Mark) bool { return m.Turning && m.Event == i })
		r.Violates = e.Time == v.From && slices.Contains(v.Processes, e.Process) && e.Type == history.TypeOK
	}
	return r
}

// nearest keeps maxEvents of the chosen events, in their order.
func nearest(chosen []int, events []history.Event, s *reports.Story, v *checker.Violation, turns map[int]int) []int {
	if len(chosen) <= maxEvents {
		return chosen
	}
	centre := s.From
	if v != nil {
		centre = v.From
		if len(v.Facts) > 0 {
			centre = (v.From + v.Facts[0].Time) / 2
		}
	}
	rank := func(i int) int {
		e := events[i]
		switch {
		case turns[i] > 0:
			return 0
		case e.Type == history.TypeFault && e.Fault != nil && !e.Fault.Background:
			return 1
		case e.Key == s.Key && e.Op != "" || cast(e, s):
			return 2
		case e.Type == history.TypeNote || e.Type == history.TypeNode:
			return 3
		}
		return 4
	}
	kept := slices.Clone(chosen)
	slices.SortStableFunc(kept, func(a, b int) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)),
			cmp.Compare(max(events[a].Time-centre, centre-events[a].Time), max(events[b].Time-centre, centre-events[b].Time)))
	})
	kept = kept[:maxEvents]
	slices.Sort(kept)
	return kept
}

// cast reports whether a command is one of a client that the story draws.
func cast(e history.Event, s *reports.Story) bool {
	client, _, isLink := strings.Cut(e.Process, ">")
	return isLink && e.Command != nil && e.Command.Effect != "" && e.Key == s.Key &&
		slices.ContainsFunc(s.Clients, func(l reports.Lane) bool { return l.Name == client })
}
