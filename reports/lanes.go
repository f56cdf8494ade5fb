package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/reports/terminal"
)

// numbers are one-column labels for marks; a story has maxTurns at most.
const numbers = "123456789abcdefghijklmnopqrstuvwxyz"

// stateGlyphs draw each state in one column; the legend explains them.
var stateGlyphs = []struct {
	state State
	glyph string
	name  string
}{
	{Acquiring, "░", "acquiring"}, {Holding, "█", "holding"}, {HoldingPaused, "▓", "holding, paused"},
	{Paused, "┆", "paused"}, {Down, "╳", "down"}, {Idle, "·", "idle, free"},
}

const brokenGlyph = "▲"

// drawing is a story on a grid of columns.
type drawing struct {
	Story
	columns int
	letters map[string]string // client to letter
	used    map[State]bool    // shown in the legend
}

// Draw draws the story as lanes of text no wider than the screen: a time axis, a lane for each client and each node's
// key, the violated interval, and numbered marks with their texts.
func (s Story) Draw(screen terminal.Screen) string {
	d := drawing{Story: s, letters: lettersFor(s.AllClients), used: map[State]bool{}}
	label := d.labelWidth()
	d.columns = max(10, screen.Width-label)
	lines := []string{d.label(s.Key, label) + d.axis()}
	for _, c := range s.Clients {
		lines = append(lines, d.label(strings.TrimSpace(c.Name+" "+d.letters[c.Name]), label)+d.lane(c))
	}
	for _, n := range s.Nodes {
		lines = append(lines, d.label(n.Name, label)+d.lane(n))
	}
	if s.Broken != nil {
		lines = append(lines, d.label("violated", label)+d.brokenLane())
	}
	if len(s.Marks) > 0 {
		lines = append(lines, d.label("events", label)+d.markLane())
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	lines = append(lines, d.legend(screen.Width)...)
	if len(s.Settings) > 0 {
		lines = append(lines, terminal.Hanging("setting: ", terminal.Clean(strings.Join(s.Settings, "; ")), screen.Width)...)
	}
	return strings.Join(append(lines, d.markTexts(screen.Width)...), "\n") + "\n"
}

// lettersFor assigns each client a letter: A to Z, a to z, then an asterisk.
func lettersFor(clients []string) map[string]string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	m := map[string]string{}
	for i, c := range clients {
		m[c] = "*"
		if i < len(letters) {
			m[c] = letters[i : i+1]
		}
	}
	return m
}

// labelWidth fits the longest label and a gap, up to a limit.
func (d *drawing) labelWidth() int {
	width := len("violated")
	for _, lane := range append(append([]Lane{{Name: d.Key}}, d.Clients...), d.Nodes...) {
		width = max(width, terminal.Width(lane.Name)+2)
	}
	return min(width, 16) + 2
}

func (d *drawing) label(text string, width int) string {
	return terminal.PadTo(terminal.Clean(text), width-2) + "  "
}

// column maps a time to a column; times outside the window map to columns outside the drawing.
func (d *drawing) column(t int64) int {
	return int(float64(t-d.From) / float64(d.Until-d.From) * float64(d.columns))
}

// span returns the columns of a stretch, at least one; an empty range if it is outside the window.
func (d *drawing) span(s Stretch) (from, until int) {
	if s.Until < d.From || s.From > d.Until {
		return 0, 0
	}
	from = min(max(d.column(s.From), 0), d.columns-1)
	until = min(max(d.column(s.Until), from+1), d.columns)
	return from, until
}

func (d *drawing) lane(l Lane) string {
	states := make([]State, d.columns)
	owners := make([]string, d.columns)
	for _, s := range l.Stretches {
		from, until := d.span(s)
		for i := from; i < until; i++ {
			state := s.State
			if state == Paused && (states[i] == Holding || states[i] == HoldingPaused) {
				state = HoldingPaused
			}
			states[i], owners[i] = state, cmp.Or(d.letters[s.Owner], "?")
		}
	}
	var b strings.Builder
	for i, state := range states {
		d.used[state] = true
		glyph := owners[i]
		for _, look := range stateGlyphs {
			if look.state == state {
				glyph = look.glyph
			}
		}
		b.WriteString(glyph)
	}
	return b.String()
}

func (d *drawing) brokenLane() string {
	from, until := d.span(*d.Broken)
	return strings.Repeat(" ", from) + strings.Repeat(brokenGlyph, until-from)
}

// markLane numbers the marks at their columns. Marks on one column share the number of the first.
func (d *drawing) markLane() string {
	cells := blank(d.columns)
	for i, m := range slices.Backward(d.Marks) {
		from, _ := d.span(Stretch{From: m.Time, Until: m.Time})
		cells[from] = numbers[i]
	}
	return string(cells)
}

func (d *drawing) markTexts(width int) []string {
	var lines []string
	for i, m := range d.Marks {
		lines = append(lines, terminal.Hanging(fmt.Sprintf("%c  %s: ", numbers[i], Moment(m.Time)), terminal.Clean(m.Text),
			width)...)
	}
	if d.Omitted > 0 {
		lines = append(lines, fmt.Sprintf("   (%s hidden)", Plural(d.Omitted, "less important event")))
	}
	return lines
}

// legend explains the glyphs in use.
func (d *drawing) legend(width int) []string {
	var parts []string
	for _, look := range stateGlyphs {
		if d.used[look.state] {
			parts = append(parts, terminal.Unbroken(look.glyph+" "+look.name))
		}
	}
	if d.used[Owned] {
		parts = append(parts, terminal.Unbroken("A, B: the key's owner on a node"))
	}
	return terminal.Hanging("", strings.Join(parts, "   "), width)
}

// axis writes times in round steps, each label beginning at its column.
func (d *drawing) axis() string {
	const room = 12 // for a label and a gap
	cells := []rune(string(blank(d.columns)))
	step := RoundStep(float64(d.Until-d.From) * room / float64(d.columns))
	for t := (d.From + step - 1) / step * step; t <= d.Until; t += step {
		label := []rune("|" + timeText(t))
		if from := d.column(t); from+len(label) <= d.columns {
			copy(cells[from:], label)
		}
	}
	return string(cells)
}

// RoundStep is the step of a time axis: the smallest of 1, 2, 5, 10, ... nanoseconds that is at least least.
func RoundStep(least float64) int64 {
	const longest = 1e18 // some thirty years
	for decade := int64(1); decade < longest; decade *= 10 {
		for _, m := range []int64{1, 2, 5} {
			if float64(decade*m) >= least {
				return decade * m
			}
		}
	}
	return longest
}

func blank(n int) []byte {
	return []byte(strings.Repeat(" ", n))
}
