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

// Text escapes what must not be printed. Ends of lines and tabs stay.
func Text(text string) string {
	return string(appendPlain(nil, []byte(text), false))
}

// Styled is Text for a text with the reports' colours, which stay.
func Styled(text string) string {
	return string(appendPlain(nil, []byte(text), true))
}

// printable reports whether a character may be printed unchanged. Marks of direction may not (Unicode's bidirectional
// controls, as in CVE-2021-42574), nor may other invisible characters, except those that join parts of letters and
// signs.
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

// appendPlain appends escaped text; with styled, colour sequences stay.
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

// Writer escapes text and writes it to another writer. It is safe for concurrent use.
type Writer struct {
	to     io.Writer
	styled bool

	mu   sync.Mutex
	rest []byte // an incomplete character or sequence, until the next write
}

// NewWriter returns a writer to to. With styled, the reports' colours stay.
func NewWriter(to io.Writer, styled bool) *Writer {
	return &Writer{to: to, styled: styled}
}

// Write returns len(data) once all of it is written.
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

// incompleteTail returns the length of an incomplete character or colour sequence at the end of a text.
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

// maxColourLength exceeds the length of every colour sequence.
const maxColourLength = 8

// colours are the parameters of the reports' colour sequences (ECMA-48, SGR): all off, bold, faint, and the terminal's
// own red, green and yellow. None hides text.
var colours = map[string]bool{"": true, "0": true, "1": true, "2": true, "31": true, "32": true, "33": true,
	"1;31": true}

// colourSequence returns the length of the colour sequence at the start of a text, or 0.
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
