package main

import (
	"io"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"example.org/lockproof/internal/plain"
)

// redraw is the interval between redraws of a live display.
const redraw = 200 * time.Millisecond

// display redraws lines in place on a terminal. A pipe gets none of them.
type display struct {
	*program
	stop    chan struct{}
	stopped sync.WaitGroup

	mu    sync.Mutex // guards the state behind lines
	lines func(width int) []string
	drawn int // lines on the screen
}

func (p *program) display(lines func(width int) []string) *display {
	d := &display{program: p, stop: make(chan struct{}), lines: lines}
	if p.live {
		p.shown.Store(d)
		d.stopped.Go(d.tick)
	}
	return d
}

// notify prints a line for the user, above a live display.
func (p *program) notify(line string) {
	if d := p.shown.Load(); d != nil {
		d.update(func() { d.show(line) })
		return
	}
	io.WriteString(p.err, line+"\n")
}

// update changes the state behind lines.
func (d *display) update(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *display) tick() {
	ticker := time.NewTicker(redraw)
	defer ticker.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-ticker.C:
			d.update(func() { d.show("") })
		}
	}
}

// show redraws the display, below a permanent line if it is not "". It writes once, so that other output cannot
// interleave.
func (d *display) show(line string) {
	if !d.live {
		return
	}
	var b strings.Builder
	b.WriteString(d.erase())
	width := d.width() - 1 // a full line would make some terminals wrap
	if line != "" {
		b.WriteString(ansi.Truncate(plain.Styled(line), width, "...") + "\n")
	}
	lines := d.lines(width)
	for _, l := range lines {
		b.WriteString(ansi.Truncate(plain.Text(l), width, "...") + "\n")
	}
	d.drawn = len(lines)
	io.WriteString(d.rawOut, b.String())
}

// erase clears the lines of the display one by one: some terminals move a fully cleared screen into their history. The
// line below has what the user typed, such as ^C.
func (d *display) erase() string {
	if d.drawn == 0 {
		return ""
	}
	return ansi.EraseEntireLine + strings.Repeat(ansi.CursorUp(1)+ansi.EraseEntireLine, d.drawn) + "\r"
}

func (d *display) finish() {
	close(d.stop)
	d.stopped.Wait()
	d.shown.Store(nil)
	if d.live {
		io.WriteString(d.rawOut, d.erase())
	}
}
