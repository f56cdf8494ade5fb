package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/plain"
	"example.org/lockproof/reports"
	"example.org/lockproof/reports/terminal"
)

// redraw is how often the time on a live display moves on.
const redraw = 200 * time.Millisecond

// progress shows how a suite gets on. A pipe gets a line for each row of the
// table as it is finished. A terminal gets lines only for rows that are not as
// expected, and below them a bar that is redrawn in place.
type progress struct {
	*program
	planned int            // trials, in all
	trials  map[string]int // of each row
	began   time.Time
	stop    chan struct{}
	stopped sync.WaitGroup

	mu    sync.Mutex
	done  int
	rows  map[string][]suite.Result // those that are not finished
	total map[suite.Outcome]int
	last  string
	drawn int // lines of the live display on the screen
}

func (p *program) progress(jobs []suite.Job, o suite.Options) *progress {
	s := &progress{
		program: p, planned: o.Planned(jobs), trials: map[string]int{}, began: time.Now(), stop: make(chan struct{}),
		rows: map[string][]suite.Result{}, total: map[suite.Outcome]int{},
	}
	for _, j := range jobs {
		s.trials[j.Name()] += o.Planned([]suite.Job{j})
	}
	if p.live {
		s.stopped.Go(s.tick)
	}
	return s
}

func (s *progress) tick() {
	ticker := time.NewTicker(redraw)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			s.mu.Lock()
			s.show("")
			s.mu.Unlock()
		}
	}
}

// observe takes a trial that has finished.
func (s *progress) observe(t suite.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	case s.asJSON, !s.live && !s.screen.Verbose:
	case !s.live:
		io.WriteString(s.out, row.Line(s.screen)+"\n")
	case row.Standing == suite.AsExpected || row.Standing == suite.Skipped:
		s.show("")
	default:
		s.show(row.Line(s.screen))
	}
}

// finish takes the live display away.
func (s *progress) finish() {
	close(s.stop)
	s.stopped.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live {
		io.WriteString(s.rawOut, s.erase())
		s.drawn = 0
	} else if s.screen.Verbose && !s.asJSON {
		io.WriteString(s.out, "\n")
	}
}

// show redraws the live display, below a line that stays if there is one. It
// is one write, so that nothing comes between.
func (s *progress) show(line string) {
	if !s.live {
		return
	}
	var b strings.Builder
	b.WriteString(s.erase())
	width := s.width() - 1 // a full line would make some terminals wrap
	if line != "" {
		b.WriteString(ansi.Truncate(plain.Styled(line), width, "...") + "\n")
	}
	lines := []string{s.bar(width), s.counts()}
	for _, l := range lines {
		b.WriteString(ansi.Truncate(plain.Text(l), width, "...") + "\n")
	}
	s.drawn = len(lines)
	io.WriteString(s.rawOut, b.String())
}

// erase moves to the first line of the display and clears from there on.
func (s *progress) erase() string {
	if s.drawn == 0 {
		return ""
	}
	return ansi.CursorUp(s.drawn) + "\r" + ansi.EraseScreenBelow
}

func (s *progress) bar(width int) string {
	full, empty := "#", "-"
	if s.screen.UTF8 {
		full, empty = "█", "░"
	}
	text := fmt.Sprintf(" %d of %d trials, %s", s.done, s.planned, reports.Duration(time.Since(s.began).Truncate(redraw)))
	room := max(10, min(40, width-terminal.Width(text)))
	filled := room
	if s.planned > 0 {
		filled = room * min(s.done, s.planned) / s.planned
	}
	return strings.Repeat(full, filled) + strings.Repeat(empty, room-filled) + text
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
