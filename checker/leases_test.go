package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

func TestLeases(t *testing.T) {
	type want struct {
		client      string
		from, until int64
		ended       string
	}
	tests := []struct {
		name string
		tell func(*story)
		want []want
	}{
		{"ends at its deadline", func(s *story) { s.grant("c1", 0, 10, 900) }, []want{{"c1", 10, 910, EndedDeadline}}},
		{"ends when release is called, not when it returns", func(s *story) {
			s.release("c1", s.grant("c1", 0, 10, 900), 200, 400, history.TypeOK)
		}, []want{{"c1", 10, 200, EndedRelease}}},
		{"ends when the client is told", func(s *story) {
			id := s.grant("c1", 0, 10, 900)
			s.add(300, history.Event{Process: "c1", Type: history.TypeLost, Lease: id})
		}, []want{{"c1", 10, 300, EndedLost}}},
		{"ends when an extension tells the client", func(s *story) {
			id := s.grant("c1", 0, 10, 900)
			s.op(200, 300, history.TypeFail, history.Event{Process: "c1", Op: history.OpExtend, Lease: id,
				Reason: history.ReasonLost})
		}, []want{{"c1", 10, 300, EndedLost}}},
		{"ends when the client is killed", func(s *story) {
			s.grant("c1", 0, 10, 900)
			s.instant(50, "kill", "c1")
		}, []want{{"c1", 10, 50, EndedKilled}}},
		{"an extension moves the deadline", func(s *story) {
			s.extend("c1", s.grant("c1", 0, 10, 900), 500, 510, 900)
		}, []want{{"c1", 10, 1410, EndedDeadline}}},
		{"of two extensions under way the one that is told last counts", func(s *story) {
			id := s.grant("c1", 0, 10, 900)
			e := history.Event{Process: "c1", Op: history.OpExtend, Key: "k1", Lease: id}
			early, late := e, e
			early.ID, late.ID = s.invoke(500, e), s.invoke(501, e)
			for _, e := range []history.Event{late, early} {
				e.Type, e.Validity = history.TypeOK, int64(e.ID)*100*ms
				s.add(510, e)
			}
		}, []want{{"c1", 10, 710, EndedDeadline}}},
		{"an extension after the deadline begins again", func(s *story) {
			s.extend("c1", s.grant("c1", 0, 10, 900), 500, 1000, 900)
		}, []want{{"c1", 10, 910, EndedDeadline}, {"c1", 1000, 1900, EndedDeadline}}},
		{"failed, unknown and unanswered acquires are none", func(s *story) {
			s.attempt("c1", 0, 10, history.TypeFail)
			s.attempt("c2", 0, 10, history.TypeInfo)
			s.attempt("c3", 0, 0, "")
		}, nil},
		{"a slow clock believes longer", func(s *story) {
			s.clock(0, "c1", 0, 0.8, false)
			s.grant("c1", 0, 10, 800)
		}, []want{{"c1", 10, 1010, EndedDeadline}}},
		{"a step back of the wall clock prolongs a belief in it", func(s *story) {
			s.op(0, 10, history.TypeOK, history.Event{Process: "c1", Op: history.OpAcquire, Key: "k1", Validity: 800 * ms,
				Wall: true})
			s.clock(100, "c1", -900, 1, true)
		}, []want{{"c1", 10, 1810, EndedDeadline}}},
		{"at one moment, a release precedes a loss", func(s *story) {
			id := s.grant("c1", 0, 10, 900)
			s.release("c1", id, 50, 60, history.TypeOK)
			s.add(50, history.Event{Process: "c1", Type: history.TypeLost, Lease: id, Key: "k1"})
		}, []want{{"c1", 10, 50, EndedRelease}}},
		{"at one moment, a release precedes an extension, and the deadline a release", func(s *story) {
			id := s.grant("c1", 100, 110, 100)
			s.extend("c1", id, 205, 210, 100)
			s.release("c1", id, 210, 220, history.TypeOK)
		}, []want{{"c1", 110, 210, EndedDeadline}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			test.tell(s)
			var got []want
			for _, l := range s.history(t, 0).Leases() {
				require.Equal(t, "k1", l.Key)
				got = append(got, want{l.Client, l.From / ms, l.Until / ms, l.Ended})
			}
			require.Equal(t, test.want, got)
		})
	}
}

func TestRead_RejectsContradictoryHistory(t *testing.T) {
	header := newStory().end(0)[0]
	after := func(events ...history.Event) []history.Event { return append([]history.Event{header}, events...) }
	c1 := func(t int64, typ history.Type, op history.Op, lease int) history.Event {
		return history.Event{Time: t, Type: typ, Process: "c1", ID: 1, Op: op, Key: "k1", Lease: lease}
	}
	const invoke, ok = history.TypeInvoke, history.TypeOK
	acquires, granted := c1(0, invoke, history.OpAcquire, 0), c1(3, ok, history.OpAcquire, 0)
	releases, stray := c1(2, invoke, history.OpRelease, 1), granted
	releases.ID, stray.Process = 2, "c2"
	for _, test := range []struct {
		name   string
		events []history.Event
		says   string
	}{
		{"empty", nil, "no header"},
		{"without a header", []history.Event{{Type: history.TypeEnd}}, "no header"},
		{"two headers", after(header), "second header"},
		{"unsorted", after(history.Event{Time: 5, Type: history.TypeNote}, history.Event{Time: 4, Type: history.TypeNote}),
			"event 2 is at 4 ns, before event 1 at 5 ns: sort the history"},
		{"ok without invoke", after(acquires, stray), "c2's operation 1 (acquire), which has no invoke"},
		{"two invokes", after(acquires, acquires), "second time"},
		{"other operation", after(c1(0, invoke, history.OpRead, 0), c1(0, ok, history.OpWrite, 0)), "ends as write"},
		{"release of nothing", after(c1(0, invoke, history.OpRelease, 7)), "lease 7"},
		{"loss of nothing", after(c1(0, history.TypeLost, "", 7)), "lease 7"},
		{"release of nothing named", after(c1(0, invoke, history.OpRelease, 0)), "names no lease"},
		{"write under no lease", after(c1(0, invoke, history.OpWrite, 7)), "lease 7"},
		{"release before the grant", after(acquires, releases, granted), "granted only later, at 0.000 s"},
		{"loss before the grant", after(acquires, c1(2, history.TypeLost, "", 1), granted), "had been granted before"},
		{"release of another key", after(acquires, granted, onAnotherKey(releases)), `is on "k1"`},
		{"grant of another key", after(acquires, onAnotherKey(granted)), `ends on the key "k2"`},
		{"grant of another lease", after(acquires, c1(3, ok, history.OpAcquire, 5)), "and lease 5"},
		{"clock without rate", after(history.Event{Type: history.TypeClock, Process: "c1", Clock: &history.Clock{}}),
			"rate above 0"},
		{"fault without fault", after(history.Event{Type: history.TypeFault}), "needs its fault"},
		{"a version written twice", after(twice()...), "no new version"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := check(test.events)
			require.ErrorContains(t, err, test.says)
		})
	}
}

func onAnotherKey(e history.Event) history.Event {
	e.Time, e.Key = 4, "k2"
	return e
}

// twice writes one version two times.
func twice() []history.Event {
	s := newStory()
	s.write("c1", 0, 1, 2, history.TypeOK, "", "v", 0)
	s.write("c2", 0, 3, 4, history.TypeOK, "v", "v", 0)
	return s.events
}

// All operations show how long a reply travels at most, not only grants: a run's only grant is usable although its
// client returned late.
func TestLeases_ReplyDelay_UsesAllOperations(t *testing.T) {
	granted := func(tell func(*story)) int {
		s := newStory()
		s.sets(10, "c1", "c1.1", 1000, "n1", "n2", "n3")
		s.grant("c1", 0, 300, 250)
		tell(s)
		return s.history(t, 0).record.counts.grants
	}
	require.Equal(t, 0, granted(func(*story) {}), "offered for no longer than its own answer took")
	require.Equal(t, 1, granted(func(s *story) {
		s.refused(400, "c2", "c2.1", "c1.1", "n1", "n2", "n3")
		s.attempt("c2", 390, 401, history.TypeFail)
	}))
}
