package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

func (s *story) cancel(t int64, client string) {
	s.add(t, history.Event{Process: client, Type: history.TypeCancel})
}

func TestCancellation(t *testing.T) {
	const noneMet = "vacuous: no operation was under way when its caller cancelled"
	tests := []struct {
		name    string
		tell    func(s *story)
		verdict string
		says    string // the reason, or what was violated
	}{
		{"at once", func(s *story) { s.attempt("c2", 100, 200, history.TypeFail); s.cancel(200, "c2") }, history.Inconclusive,
			noneMet},
		{"in time", func(s *story) { s.cancel(150, "c2"); s.attempt("c2", 100, 650, history.TypeFail) }, history.Holds, ""},
		{"late", func(s *story) { s.cancel(150, "c2"); s.attempt("c2", 100, 651, history.TypeFail) },
			history.Violated, "; the acquire returned at 0.651 s"},
		{"never", func(s *story) { s.cancel(150, "c2"); s.attempt("c2", 100, 0, "") },
			history.Violated, "; the acquire had not returned at 2.000 s"},
		{"a release in time", func(s *story) {
			s.cancel(150, "c1")
			s.release("c1", 1, 100, 600, history.TypeOK)
		}, history.Holds, ""},
		{"a release that never returns", func(s *story) {
			s.cancel(150, "c1")
			s.release("c1", 1, 100, 0, "")
		}, history.Violated, "; the release had not returned at 2.000 s"},
		{"a second cancel does not begin it anew", func(s *story) {
			s.cancel(150, "c2")
			s.cancel(400, "c2")
			s.attempt("c2", 100, 700, history.TypeFail)
		}, history.Violated, ""},
		{"the history ends before the bound",
			func(s *story) { s.cancel(1700, "c2"); s.attempt("c2", 100, 0, "") }, history.Inconclusive, noneMet},
		{"nothing was under way", func(s *story) { s.cancel(950, "c2") }, history.Inconclusive, noneMet},
		{"a majority is cut off", func(s *story) {
			s.lasting(90, 1900, "cut", "c2-n1", "c2-n2", "c2-n3", "c2-n4", "c2-n5")
			s.cancel(150, "c2")
			s.attempt("c2", 100, 651, history.TypeFail)
		}, history.Violated, ""},
		{"its client was paused", func(s *story) {
			s.lasting(140, 1000, "pause", "c2")
			s.cancel(150, "c2")
			s.attempt("c2", 100, 1500, history.TypeFail)
		}, history.Holds, ""},
		{"its client was killed", func(s *story) {
			s.cancel(150, "c2")
			s.attempt("c2", 100, 0, "")
			s.instant(400, "kill", "c2")
		}, history.Inconclusive, noneMet},
		{"no bound", func(s *story) {
			s.header.Bounds.Cancel = 0
			s.cancel(150, "c2")
			s.attempt("c2", 100, 1900, history.TypeFail)
		}, history.Inconclusive, "vacuous: the history sets no bound"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			s.header.Bounds.Cancel = 500 * ms
			s.grant("c1", 0, 10, 80)
			test.tell(s)
			s.add(2000, history.Event{Type: history.TypeNote})
			if test.verdict != history.Violated {
				s.requireVerdict(t, Cancellation, test.verdict, test.says)
				return
			}
			v := s.requireVerdict(t, Cancellation, test.verdict, "").Violations[0]
			require.Contains(t, v.What, test.says)
			require.Greater(t, v.Until-v.From, 500*ms)
		})
	}
}
