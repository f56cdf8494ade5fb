package checker

import (
	"testing"

	"example.org/lockproof/harness/history"
)

func (s *story) cancel(t int64, client string) {
	s.add(t, history.Event{Process: client, Type: history.TypeCancel})
}

func TestCancellation(t *testing.T) {
	const noneMet = "vacuous: no operation was under way when its caller cancelled"
	asks := func(done int64) func(*story) { // and its caller cancels
		return func(s *story) {
			s.cancel(150, "c2")
			s.attempt("c2", 100, done, history.TypeFail)
		}
	}
	hangs := func(s *story) {
		s.cancel(150, "c2")
		s.attempt("c2", 100, 0, "")
	}
	requireVerdicts(t, Cancellation, []storyCase{
		{"at once", func(s *story) { s.attempt("c2", 100, 200, history.TypeFail); s.cancel(200, "c2") }, history.Inconclusive,
			noneMet},
		{"in time", asks(650), history.Holds, ""},
		{"late", asks(651), history.Violated, "; the acquire returned at 0.651 s, 501 ms later"},
		{"never", hangs, history.Violated, "; the acquire had not returned at 2.000 s"},
		{"a release in time", func(s *story) {
			s.cancel(150, "c1")
			s.release("c1", 1, 100, 600, history.TypeOK)
		}, history.Holds, ""},
		{"a release that never returns", func(s *story) {
			s.cancel(150, "c1")
			s.release("c1", 1, 100, 0, "")
		}, history.Violated, "; the release had not returned at 2.000 s"},
		{"a second cancel does not begin it anew",
			func(s *story) { asks(700)(s); s.cancel(400, "c2") }, history.Violated, ""},
		{"the history ends before the bound",
			func(s *story) { s.cancel(1700, "c2"); s.attempt("c2", 100, 0, "") }, history.Inconclusive, noneMet},
		{"nothing was under way", func(s *story) { s.cancel(950, "c2") }, history.Inconclusive, noneMet},
		{"a majority is cut off",
			func(s *story) { s.lasting(90, 1900, "cut", links("c2")...); asks(651)(s) }, history.Violated, ""},
		{"its client was paused", func(s *story) { s.lasting(140, 1000, "pause", "c2"); asks(1500)(s) }, history.Holds, ""},
		{"its client was killed",
			func(s *story) { hangs(s); s.instant(400, "kill", "c2") }, history.Inconclusive, noneMet},
		{"no bound", func(s *story) { s.header.Bounds.Cancel = 0; asks(1900)(s) }, history.Inconclusive,
			"vacuous: the history sets no bound"},
	}, func(s *story) {
		s.header.Bounds.Cancel = 500 * ms
		s.grant("c1", 0, 10, 80)
		s.add(2000, history.Event{Type: history.TypeNote})
	})
}
