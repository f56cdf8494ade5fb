package terminal

import (
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"example.org/lockproof/internal/plain"
)

// Screen is what text is written for.
type Screen struct {
	Width  int // in columns
	Colour bool
	// Verbose asks for what a reader who looks for nothing in particular does not
	// need: the rows that are as expected, and the names of those that were skipped.
	Verbose bool
}

// MinWidth is the narrowest screen that is written for; on a narrower one
// lines wrap.
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

// Style gives each line of a text a style, if there is colour.
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

// Width is how many columns the widest line of a text takes.
func Width(text string) (columns int) {
	for line := range strings.SplitSeq(text, "\n") {
		columns = max(columns, ansi.StringWidth(line))
	}
	return columns
}

// PadTo cuts text to a width, or fills it up with blanks.
func PadTo(text string, width int) string {
	text = ansi.Truncate(text, width, "")
	return text + strings.Repeat(" ", max(0, width-Width(text)))
}

// What stands for a blank and a hyphen at which Hanging does not wrap.
const (
	noBreak  = "\u00a0"
	noHyphen = "\u2011"
)

// quantity is a number with its unit, which are not to be torn apart.
var quantity = regexp.MustCompile(`(\d) (%|(?:ns|µs|ms|s|min|h)\b)`)

// asFlag is a flag with what follows it, which is its value if it takes one.
var asFlag = regexp.MustCompile(`--[a-z]+(-[a-z]+)*( [\w./-]+)?`)

var (
	binder   = strings.NewReplacer(" ", noBreak, "-", noHyphen)
	unbinder = strings.NewReplacer(noBreak, " ", noHyphen, "-")
)

// Unbroken keeps text on one line when Hanging wraps it.
func Unbroken(text string) string { return binder.Replace(text) }

// Hanging wraps text behind a prefix: the further lines begin below the text.
func Hanging(prefix, text string, width int) []string {
	indent := Width(prefix)
	text = asFlag.ReplaceAllStringFunc(quantity.ReplaceAllString(text, "$1"+noBreak+"$2"), Unbroken)
	text = unbinder.Replace(ansi.Wrap(text, max(20, width-indent), ""))
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

// Wrap is text wrapped behind a prefix, with the end of its last line.
func (s Screen) Wrap(prefix, text string) string {
	return strings.Join(Hanging(prefix, text, s.Width), "\n") + "\n"
}

// Page is text that is being written for a screen.
type Page struct {
	Screen
	strings.Builder
}

// Line writes one line as it is, or several.
func (p *Page) Line(text string) { p.WriteString(strings.TrimRight(text, " ") + "\n") }

// Hang writes text of unknown origin, wrapped behind a prefix.
func (p *Page) Hang(prefix, text string) { p.WriteString(p.Wrap(prefix, Clean(text))) }

// Clean makes text of unknown origin fit for a terminal: no control
// characters or noncharacters, no marks that turn it round, and on one line.
func Clean(text string) string {
	return plain.Text(strings.Join(strings.Fields(strings.Map(harmless, text)), " "))
}

// harmless is a character, and a blank in place of one that does more than stand there.
func harmless(r rune) rune {
	if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0xfffe || r == 0xffff {
		return ' '
	}
	return r
}
