package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
)

// stages shows on a terminal what is being measured and how many trials have
// been run. A pipe gets nothing: the answer comes in one piece.
type stages struct {
	*program
	mu    sync.Mutex
	what  string
	done  int
	shown time.Time
	began time.Time
}

func (p *program) stages() *stages { return &stages{program: p, began: time.Now()} }

// next says what is measured from here on.
func (s *stages) next(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.what, s.shown = what, time.Time{}
	s.show()
}

// observe counts a trial.
func (s *stages) observe(suite.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	s.show()
}

func (s *stages) show() {
	s.draw(func() string {
		return fmt.Sprintf("%s: %d trials, %s", s.what, s.done, reports.Duration(time.Since(s.began).Truncate(redraw)))
	})
}

// say shows a line in place of it.
func (s *stages) say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draw(func() string { return line })
}

func (s *stages) draw(text func() string) {
	if !s.live || time.Since(s.shown) < redraw {
		return
	}
	s.shown = time.Now()
	line := text()
	io.WriteString(s.rawErr, "\r"+ansi.Truncate(line, s.width()-1, "...")+ansi.EraseLineRight)
}

// finish takes the line away.
func (s *stages) finish() {
	if s.live {
		io.WriteString(s.rawErr, "\r"+ansi.EraseLineRight)
	}
}
