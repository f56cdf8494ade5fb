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

// length gives the size in bytes of the first RESP value in b, 0 if it is not
// whole yet.
func length(b []byte) (int, error) { return lengthAt(b, 0) }

func lengthAt(b []byte, depth int) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if depth > maxDepth {
		return 0, errNotRESP
	}
	line := bytes.Index(b, []byte("\r\n"))
	if line < 0 {
		return 0, plausible(b)
	}
	head := line + 2
	switch b[0] {
	case '+', '-', ':', '_', ',', '#', '(':
		return head, nil
	case '$', '=', '!':
		n, err := number(b[1:line])
		if err != nil || n < 0 {
			return head, err
		}
		if len(b) < head+n+2 {
			return 0, nil
		}
		return head + n + 2, nil
	case '*', '~', '>', '%', '|':
		n, err := number(b[1:line])
		if err != nil || n < 0 {
			return head, err
		}
		if b[0] == '%' || b[0] == '|' {
			n *= 2
		}
		return elements(b, head, n, depth)
	}
	return 0, errNotRESP
}

func elements(b []byte, at, n, depth int) (int, error) {
	for range n {
		size, err := lengthAt(b[at:], depth+1)
		if err != nil || size == 0 {
			return 0, err
		}
		at += size
	}
	return at, nil
}

// plausible reports whether an unfinished line can become RESP: a length line
// is short, and all lines begin with a type.
func plausible(b []byte) error {
	if bytes.IndexByte([]byte("+-:_,#($=!*~>%|"), b[0]) < 0 {
		return errNotRESP
	}
	if bytes.IndexByte([]byte("$=!*~>%|"), b[0]) >= 0 && len(b) > 32 {
		return errNotRESP
	}
	return nil
}

func number(b []byte) (int, error) {
	n, err := strconv.Atoi(string(b))
	if err != nil || n < -1 || n > maxBulk {
		return 0, errNotRESP
	}
	return n, nil
}

// ReadCommand reads the command at the beginning of data, and gives its size, 0 if its end is still to come.
func ReadCommand(data []byte) (words []string, size int, err error) {
	size, err = length(data)
	if err != nil || size == 0 {
		return nil, 0, err
	}
	if words = arguments(data[:size]); len(words) == 0 {
		return nil, 0, errors.New("an empty command")
	}
	return words, size, nil
}

// arguments reads a whole command: an array of bulk strings. Anything else has
// no arguments.
func arguments(b []byte) []string {
	if len(b) == 0 || b[0] != '*' {
		return nil
	}
	rest := string(b)
	_, rest, _ = strings.Cut(rest, "\r\n")
	args := make([]string, 0, 8)
	for strings.HasPrefix(rest, "$") {
		head, tail, _ := strings.Cut(rest[1:], "\r\n")
		n, err := strconv.Atoi(head)
		if err != nil || n < 0 || len(tail) < n+len("\r\n") {
			return args
		}
		args, rest = append(args, tail[:n]), tail[n+len("\r\n"):]
	}
	return args
}

// reply is an answer as far as a lock's command has one.
type reply struct {
	text    string // as a reader would write it: OK, nil, 1, error: ...
	integer int64
	null    bool
	err     bool
	raw     string // in RESP
}

// unknownScript: the node does not have the script that was named.
func (r reply) unknownScript() bool { return r.err && strings.HasPrefix(r.text, "error: NOSCRIPT") }

func parseReply(b []byte) reply {
	r := readReply(b)
	r.raw = string(b[:min(len(b), mostRaw)])
	return r
}

// mostRaw is how much of a reply is compared with others.
const mostRaw = 256

func readReply(b []byte) reply {
	line := bytes.Index(b, []byte("\r\n"))
	if line < 1 {
		return reply{}
	}
	head := string(b[1:line])
	switch b[0] {
	case '-', '!':
		return reply{text: "error: " + head, err: true}
	case ':':
		n, _ := strconv.ParseInt(head, 10, 64)
		return reply{text: head, integer: n}
	case '_':
		return reply{text: "nil", null: true}
	case '$', '*':
		if head == "-1" {
			return reply{text: "nil", null: true}
		}
		if b[0] == '$' {
			return reply{text: string(b[line+2 : len(b)-2])}
		}
		return reply{text: "array of " + head}
	}
	return reply{text: head}
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
