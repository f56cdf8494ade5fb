package terminal

import (
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"example.org/lockproof/internal/plain"
)

// Screen is the target of text output.
type Screen struct {
	Width  int // in columns
	Colour bool
	// Verbose shows rows that are as expected, too, and the names of skipped rows.
	Verbose bool
}

// MinWidth is the narrowest supported screen; on a narrower one lines wrap.
const MinWidth = 40

// Style is a colour or a weight of text.
type Style = ansi.Style

// The terminal's own colours: red is a bug, yellow a limit or undecided, green holds.
var (
	Green  = Style{}.ForegroundColor(ansi.Green)
	Red    = Style{}.Bold().ForegroundColor(ansi.Red)
	Yellow = Style{}.ForegroundColor(ansi.Yellow)
	Faint  = Style{}.Faint()
	Bold   = Style{}.Bold()
)

// Style styles each line of a text if the screen has colour.
func (s Screen) Style(text string, style Style) string {
	if !s.Colour || len(style) == 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = style.Styled(line)
	}
	return strings.Join(lines, "\n")
}

// Width is the number of columns of a text's widest line.
func Width(text string) (columns int) {
	for line := range strings.SplitSeq(text, "\n") {
		columns = max(columns, ansi.StringWidth(line))
	}
	return columns
}

// PadTo cuts or pads text to a width.
func PadTo(text string, width int) string {
	text = ansi.Truncate(text, width, "")
	return text + strings.Repeat(" ", max(0, width-Width(text)))
}

// ansi.Wrap does not wrap at these substitutes for a blank and a hyphen.
const (
	noBreak  = "\u00a0"
	noHyphen = "\u2011"
)

// quantity is a number with its unit, and flag one with the next word, which may be its value: Hanging keeps them
// together.
var (
	quantity = regexp.MustCompile(`(\d) (%|(?:ns|µs|ms|s|min|h)\b)`)
	flag     = regexp.MustCompile(`--[a-z-]+ [\w./-]+`)
)

var unbinder = strings.NewReplacer(noBreak, " ", noHyphen, "-")

// Unbroken prevents Hanging from wrapping a text.
func Unbroken(text string) string { return strings.ReplaceAll(text, " ", noBreak) }

// Hanging wraps text after a prefix and indents the other lines below the text. It does not wrap within a name, whose
// hyphens belong to it.
func Hanging(prefix, text string, width int) []string {
	indent := Width(prefix)
	text = flag.ReplaceAllStringFunc(quantity.ReplaceAllString(text, "$1"+noBreak+"$2"), Unbroken)
	text = unbinder.Replace(ansi.Wrap(strings.ReplaceAll(text, "-", noHyphen), max(20, width-indent), ""))
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if i == 0 {
			lines[i] = prefix + line
		} else {
			lines[i] = strings.Repeat(" ", indent) + strings.TrimLeft(line, " ")
		}
	}
	return lines
}

// Wrap wraps text after a prefix and ends it with a newline.
func (s Screen) Wrap(prefix, text string) string {
	return strings.TrimRight(strings.Join(Hanging(prefix, text, s.Width), "\n"), " ") + "\n"
}

// Page collects text for a screen.
type Page struct {
	Screen
	strings.Builder
}

// Line writes one or several lines without wrapping.
func (p *Page) Line(text string) { p.WriteString(strings.TrimRight(text, " ") + "\n") }

// Hang writes text of unknown origin, wrapped after a prefix.
func (p *Page) Hang(prefix, text string) { p.WriteString(p.Wrap(prefix, Clean(text))) }

// Clean makes text of unknown origin safe for a terminal: one line of plain text.
func Clean(text string) string { return plain.Text(strings.Join(strings.Fields(text), " ")) }
