package reports

import (
	"regexp"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"lockproof/internal/plain"
)

// Screen is what text is written for.
type Screen struct {
	Width  int  // in columns
	UTF8   bool // otherwise only ASCII is drawn; names stay as they are
	Colour bool
	// Verbose asks for what a reader who looks for nothing in particular does not
	// need: the rows that are as expected, and the names of those that were skipped.
	Verbose bool
}

// MinWidth is the narrowest screen that is written for; on a narrower one
// lines wrap.
const MinWidth = 60

// style gives text a colour of the terminal's own palette, if there is colour.
func (s Screen) style(text string, style lipgloss.Style) string {
	if !s.Colour {
		return text
	}
	return style.Render(text)
}

// padTo cuts text to a width, or fills it up with blanks.
func padTo(text string, width int) string {
	text = ansi.Truncate(text, width, "")
	return text + strings.Repeat(" ", max(0, width-lipgloss.Width(text)))
}

// What stands for a blank and a hyphen at which hanging does not wrap.
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

// unbroken keeps text on one line when hanging wraps it.
func unbroken(text string) string { return binder.Replace(text) }

// hanging wraps text behind a prefix: the further lines begin below the text.
func hanging(prefix, text string, width int) []string {
	indent := lipgloss.Width(prefix)
	text = asFlag.ReplaceAllStringFunc(quantity.ReplaceAllString(text, "$1"+noBreak+"$2"), unbroken)
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

// clean makes text of unknown origin fit for a terminal: no control
// characters or noncharacters, no marks that turn it round, and on one line.
func clean(text string) string {
	return plain.Text(strings.Join(strings.Fields(strings.Map(harmless, text)), " "))
}

// harmless is a character, and a blank in place of one that does more than stand there.
func harmless(r rune) rune {
	if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0xfffe || r == 0xffff {
		return ' '
	}
	return r
}
