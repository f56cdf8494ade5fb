package reports

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/checker"
	"lockproof/harness/history"
)

// manyEvents is a source of so many events, one each nanosecond after the header, of
// which every tenth begins an operation and the next ends it.
func manyEvents(n int) checker.Source {
	return func(visit func(*history.Event) error) error {
		if err := visit(&history.Event{Type: history.TypeHeader, Header: &history.Header{}}); err != nil {
			return err
		}
		for i := 1; i < n; i++ {
			e := history.Event{Time: int64(i), Process: "c1", Type: history.TypeNote}
			switch i % 10 {
			case 4:
				e.Type, e.Op, e.ID = history.TypeInvoke, history.OpAcquire, i
			case 5:
				e.Type, e.Op, e.ID = history.TypeOK, history.OpAcquire, i-1
			case 9:
				e.Type, e.Fault = history.TypeFault, &history.Fault{}
			}
			if err := visit(&e); err != nil {
				return err
			}
		}
		return nil
	}
}

// Around a violation there is what happened at its time, what faults set before,
// and no end without its beginning; and the blame is the same event's.
func TestAround(t *testing.T) {
	v := checker.Violation{From: 1_055, Until: 1_060, Facts: []checker.Fact{{Event: 1_042, Time: 1_055}}}
	read := 0
	all := manyEvents(1_000_000)
	windows, err := around(func(visit func(*history.Event) error) error {
		return all(func(e *history.Event) error { read++; return visit(e) })
	}, []checker.Violation{v}, 10)
	require.NoError(t, err)
	require.Less(t, read, 2_000, "nothing is read that comes after")
	w := windows[0]
	require.Equal(t, history.TypeHeader, w.events[0].Type)
	faults, inside := 0, 0
	for _, e := range w.events[1:] {
		switch {
		case e.Time >= 1_055-30:
			inside++
		case e.Type == history.TypeFault:
			faults++
		}
		require.NotEqual(t, 1_024, e.ID, "its beginning is not in the window")
	}
	require.Equal(t, []int{102, 45}, []int{faults, inside}, "46 events, one of them an end alone")
	require.Equal(t, int64(1_042), w.events[w.violation.Facts[0].Event].Time)
	require.Equal(t, 1_042, v.Facts[0].Event, "the verdict's own is as it was")
}

// Where too much happens nothing is drawn, and not more is kept.
func TestAround_IsBounded(t *testing.T) {
	windows, err := around(manyEvents(3*mostAround), []checker.Violation{{From: 1, Until: 1 << 40}}, 0)
	require.NoError(t, err)
	require.Len(t, windows[0].events, mostAround)
	_, err = windows[0].story(nil)
	require.EqualError(t, err, "too much happens around it")
}
