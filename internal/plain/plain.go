package plain

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text writes out what is not to be printed. Ends of lines and tabs stay.
func Text(text string) string {
	return string(appendPlain(nil, []byte(text), false))
}

// Styled is Text for a text that has the reports' colours in it, which stay.
func Styled(text string) string {
	return string(appendPlain(nil, []byte(text), true))
}

// printable reports whether a character may be printed as it is. Marks of direction
// are not (Unicode's bidirectional controls, as in CVE-2021-42574), nor are
// other characters that cannot be seen, but for those that join the parts of
// letters and signs.
func printable(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return true
	case r == '\u200c' || r == '\u200d': // the joiners
		return true
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp):
		return false
	}
	return r != 0xfffe && r != 0xffff
}

// appendPlain adds text; styled, with the sequences for colours as they are.
func appendPlain(to, text []byte, styled bool) []byte {
	for len(text) > 0 {
		if c := text[0]; c >= ' ' && c < 0x7f || c == '\n' {
			to, text = append(to, c), text[1:]
			continue
		}
		if n := colourSequence(text); styled && n > 0 {
			to, text = append(to, text[:n]...), text[n:]
			continue
		}
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			to = fmt.Appendf(to, `\x%02x`, text[0])
		case printable(r):
			to = append(to, text[:size]...)
		case r > 0xffff: // JSON writes such a character as two halves
			high, low := utf16.EncodeRune(r)
			to = fmt.Appendf(to, `\u%04x\u%04x`, high, low)
		default:
			to = fmt.Appendf(to, `\u%04x`, r)
		}
		text = text[size:]
	}
	return to
}

// Writer writes text plainly to another writer. It may be used by several
// goroutines.
type Writer struct {
	to     io.Writer
	styled bool

	mu   sync.Mutex
	rest []byte // the beginning of a character or sequence, whose end comes with the next write
}

// NewWriter makes a writer on to. With styled, the colours that the reports have
// stay as they are.
func NewWriter(to io.Writer, styled bool) *Writer {
	return &Writer{to: to, styled: styled}
}

// Write gives the length of what it was given, once all of it is written.
func (w *Writer) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.rest, data...)
	whole := len(text) - incompleteTail(text)
	written := appendPlain(make([]byte, 0, whole), text[:whole], w.styled)
	w.rest = append([]byte(nil), text[whole:]...)
	if _, err := w.to.Write(written); err != nil {
		return 0, err
	}
	return len(data), nil
}

// incompleteTail is the length of the character at the end of a text that is not
// whole, or of the sequence for a colour.
func incompleteTail(text []byte) int {
	for n := 1; n <= min(len(text), maxColourLength); n++ {
		switch tail := text[len(text)-n:]; {
		case n < utf8.UTFMax && utf8.RuneStart(tail[0]) && !utf8.FullRune(tail):
			return n
		case tail[0] == '\x1b' && colourSequence(tail) == 0 && strings.Trim(string(tail[1:]), "[0123456789;") == "":
			return n
		}
	}
	return 0
}

// maxColourLength is more than the longest sequence for a colour has.
const maxColourLength = 8

// colours are the parameters of the sequences for colours that reports have
// (ECMA-48, SGR): all of them off, bold, faint, and the terminal's own red,
// green and yellow. None hides text.
var colours = map[string]bool{"": true, "0": true, "1": true, "2": true, "31": true, "32": true, "33": true,
	"1;31": true}

// colourSequence is the length of the sequence for a colour that a text begins with.
func colourSequence(text []byte) int {
	if len(text) < 3 || text[0] != '\x1b' || text[1] != '[' {
		return 0
	}
	for i := 2; i < min(len(text), maxColourLength); i++ {
		if text[i] == 'm' && colours[string(text[2:i])] {
			return i + 1
		}
	}
	return 0
}
