package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
	"example.org/lockproof/reports/terminal"
)

// progress shows the progress of a suite. With --verbose a pipe gets a line for each finished row. A terminal gets
// lines only for unexpected rows, and a bar below them.
type progress struct {
	*program
	display *display
	began   time.Time
	planned int            // all trials
	trials  map[string]int // by row
	done    int
	rows    map[string][]suite.Result // unfinished rows
	total   map[suite.Standing]int
	last    string
}

func (p *program) progress(trials map[string]int, planned int) *progress {
	s := &progress{program: p, began: time.Now(), planned: planned, trials: trials,
		rows: map[string][]suite.Result{}, total: map[suite.Standing]int{}}
	s.display = p.display(func(width int) []string { return []string{s.bar(width), s.counts()} })
	return s
}

// observe adds a finished trial.
func (s *progress) observe(t suite.Result) { s.display.update(func() { s.add(t) }) }

func (s *progress) add(t suite.Result) {
	s.done++
	id := t.Name()
	s.rows[id] = append(s.rows[id], t)
	if len(s.rows[id]) < s.trials[id] {
		return
	}
	row := reports.New(s.rows[id], reports.Run{}).Rows[0]
	delete(s.rows, id)
	s.total[row.Standing]++
	s.last = row.Name()
	switch {
	case !s.live && !s.screen.Verbose:
	case !s.live:
		io.WriteString(s.out, row.Line(s.screen)+"\n")
	case row.Standing == suite.AsExpected || row.Standing == suite.Skipped:
		s.display.show("")
	default:
		s.display.show(row.Line(s.screen))
	}
}

func (s *progress) finish() {
	s.display.finish()
	if !s.live && s.screen.Verbose {
		io.WriteString(s.out, "\n")
	}
}

func (s *progress) bar(width int) string {
	text := fmt.Sprintf(" %d of %d trials, %s", s.done, s.planned, reports.Duration(time.Since(s.began).Truncate(redraw)))
	room := max(0, min(40, width-terminal.Width(text)))
	filled := room
	if s.planned > 0 {
		filled = room * min(s.done, s.planned) / s.planned
	}
	return strings.Repeat("█", filled) + strings.Repeat("░", room-filled) + text
}

func (s *progress) counts() string {
	var parts []string
	if text := reports.CountsText(s.total); text != "" {
		parts = append(parts, text)
	}
	if s.last != "" {
		parts = append(parts, "last: "+s.last)
	}
	return strings.Join(parts, "; ")
}
