package main

import (
	"io"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"example.org/lockproof/internal/plain"
)

// redraw is how often a live display is drawn again.
const redraw = 200 * time.Millisecond

// display is lines on a terminal that are drawn again in place. A pipe gets nothing of them.
type display struct {
	*program
	stop    chan struct{}
	stopped sync.WaitGroup

	mu    sync.Mutex // held by whoever changes what lines says
	lines func(width int) []string
	drawn int // lines of it on the screen
}

// display shows lines until it is finished.
func (p *program) display(lines func(width int) []string) *display {
	d := &display{program: p, stop: make(chan struct{}), lines: lines}
	if p.live {
		d.stopped.Go(d.tick)
	}
	return d
}

// update changes what lines says.
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

// show redraws the display, below a line that stays if there is one. It is one write, so that nothing comes between.
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

// erase clears the lines of the display, from the last to the first. To clear all below would move a screen that has
// nothing else into the history of some terminals.
func (d *display) erase() string {
	if d.drawn == 0 {
		return ""
	}
	return strings.Repeat(ansi.CursorUp(1)+ansi.EraseEntireLine, d.drawn) + "\r"
}

// finish takes the display away.
func (d *display) finish() {
	close(d.stop)
	d.stopped.Wait()
	if d.live {
		io.WriteString(d.rawOut, d.erase())
	}
}
