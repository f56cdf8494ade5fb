package link

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

var errNotRESP = errors.New("not RESP")

// maxBulk is Redis's limit on one string (proto-max-bulk-len).
const maxBulk = 512 << 20

// maxDepth bounds nesting; Redis's replies to a lock are flat.
const maxDepth = 16

// The types of RESP: one line, a string after a length, and a count of elements.
const (
	lines      = "+-:_,#("
	bulks      = "$=!"
	aggregates = "*~>%|"
)

// value is one RESP value: a command or a reply.
type value struct {
	kind     byte
	data     []byte // as received
	text     string // its line, or the string after its length
	null     bool
	elements []value
}

// read reads the value at the beginning of b. The value's data is nil if b is incomplete.
func read(b []byte) (value, error) { return readAt(b, 0) }

func readAt(b []byte, depth int) (v value, err error) {
	if len(b) == 0 {
		return v, nil
	}
	v.kind = b[0]
	isLine := strings.IndexByte(lines, v.kind) >= 0
	end := bytes.Index(b, []byte("\r\n"))
	switch {
	case depth > maxDepth, !isLine && strings.IndexByte(bulks+aggregates, v.kind) < 0:
		return v, errNotRESP
	case end < 0 && !isLine && len(b) > 32: // a length is short
		return v, errNotRESP
	case end < 0:
		return v, nil
	}
	v.text = string(b[1:end])
	head := end + len("\r\n")
	if isLine {
		v.null, v.data = v.kind == '_', b[:head]
		return v, nil
	}
	n, err := strconv.Atoi(v.text)
	switch {
	case err != nil || n < -1 || n > maxBulk:
		return v, errNotRESP
	case n < 0:
		v.null, v.data = true, b[:head]
		return v, nil
	case strings.IndexByte(bulks, v.kind) < 0:
		return v.withElements(b, head, n, depth)
	}
	if whole := head + n + len("\r\n"); len(b) >= whole {
		v.text, v.data = string(b[head:head+n]), b[:whole]
	}
	return v, nil
}

// withElements reads n elements, or n pairs, from offset at.
func (v value) withElements(b []byte, at, n, depth int) (value, error) {
	if v.kind == '%' || v.kind == '|' {
		n *= 2
	}
	v.elements = make([]value, 0, min(n, 8))
	for range n {
		element, err := readAt(b[at:], depth+1)
		if err != nil || element.data == nil {
			return v, err
		}
		v.elements = append(v.elements, element)
		at += len(element.data)
	}
	v.data = b[:at]
	return v, nil
}

// words returns the words of a command, which is an array of strings; nil for other values.
func (v value) words() []string {
	if v.kind != '*' {
		return nil
	}
	words := make([]string, 0, len(v.elements))
	for _, e := range v.elements {
		if e.kind != '$' || e.null {
			break
		}
		words = append(words, e.text)
	}
	return words
}

// ReadCommand reads the command at the beginning of data and its size, 0 if data is incomplete.
func ReadCommand(data []byte) (words []string, size int, err error) {
	v, err := read(data)
	if err != nil || v.data == nil {
		return nil, 0, err
	}
	if words = v.words(); len(words) == 0 {
		return nil, 0, errors.New("an empty command")
	}
	return words, len(v.data), nil
}

func (v value) failed() bool { return v.kind == '-' || v.kind == '!' }

// unknownScript reports whether the node lacks the script.
func (v value) unknownScript() bool { return v.failed() && strings.HasPrefix(v.text, "NOSCRIPT") }

// integer returns the value of an integer reply, 0 for other types.
func (v value) integer() int64 {
	if v.kind != ':' {
		return 0
	}
	n, _ := strconv.ParseInt(v.text, 10, 64)
	return n
}

// String formats a reply for readers: OK, nil, 1, error: ...
func (v value) String() string {
	switch {
	case v.null:
		return "nil"
	case v.failed():
		return "error: " + v.text
	case v.kind == '*':
		return "array of " + v.text
	}
	return v.text
}

// shorten limits a reply's text to 64 bytes.
func shorten(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	cut := most - len("...")
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}
