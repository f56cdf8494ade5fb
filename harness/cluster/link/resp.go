package link

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// errNotRESP says that a stream is not in Redis's protocol.
var errNotRESP = errors.New("not RESP")

// maxBulk is Redis's own limit on one string (proto-max-bulk-len).
const maxBulk = 512 << 20

// maxDepth bounds how deep values may be nested; Redis's replies to a lock are
// flat.
const maxDepth = 16

// The types of RESP: those that are one line, that have a string behind it, and that have elements.
const (
	lines      = "+-:_,#("
	bulks      = "$=!"
	aggregates = "*~>%|"
)

// value is one value of RESP: a command, or what a node says.
type value struct {
	kind     byte
	data     []byte // as it came
	text     string // its line, or the string behind it
	null     bool
	elements []value
}

// read reads the value at the beginning of b. It has no data if its end is still to come.
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

// withElements reads n elements, or pairs of them, from a place on.
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

// words are those of a command, which is an array of strings; of anything else, none.
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

// ReadCommand reads the command at the beginning of data, and gives its size, 0 if its end is still to come.
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

// unknownScript: the node does not have the script that was named.
func (v value) unknownScript() bool { return v.failed() && strings.HasPrefix(v.text, "NOSCRIPT") }

// integer is the number that it is, 0 if it is none.
func (v value) integer() int64 {
	if v.kind != ':' {
		return 0
	}
	n, _ := strconv.ParseInt(v.text, 10, 64)
	return n
}

// String is a reply as a reader would write it: OK, nil, 1, error: ...
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

// shorten keeps a reply's text readable and within 64 bytes.
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
