package suite

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"sync"
)

// lastWords takes what a child writes to stderr, and keeps what it may be asked
// for when it has died: the beginning of Go's own account of its death, or else
// its last line.
type lastWords struct {
	said io.Writer // takes what is not such an account

	mu      sync.Mutex
	line    []byte   // that has not ended
	last    string   // line that was not empty
	account []string // lines
}

// accountLines is how much of an account is kept: the goroutine that died comes
// first.
const accountLines = 40

// lineLength is how much of a line is kept.
const lineLength = 1000

// dying begins Go's account of a death.
var dying = regexp.MustCompile(`^(panic: |fatal error: |runtime: |SIG[A-Z]+: )`)

// Write takes a piece of what is written.
func (w *lastWords) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for rest := b; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		if room := lineLength - len(w.line); room > 0 {
			w.line = append(w.line, part[:min(room, len(part))]...)
		}
		if ended {
			w.take(string(w.line))
			w.line = w.line[:0]
		}
		rest = after
	}
	return len(b), nil
}

// take takes a line.
func (w *lastWords) take(line string) {
	switch {
	case w.dies() || len(w.account) > 0 && len(w.account) < preamble:
		if len(w.account) < accountLines {
			w.account = append(w.account, line)
		}
	case dying.MatchString(line):
		w.talked()
		w.account = []string{line}
	default:
		w.talked()
		_, _ = io.WriteString(w.said, line+"\n")
	}
	if line != "" {
		w.last = line
	}
}

// preamble is how many lines an account has at most before its first goroutine.
const preamble = 8

// talked passes on what began like an account and was none.
func (w *lastWords) talked() {
	if !w.dies() {
		for _, line := range w.account {
			_, _ = io.WriteString(w.said, line+"\n")
		}
		w.account = nil
	}
}

// end passes on what is left when the child has ended.
func (w *lastWords) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.line) > 0 {
		w.take(string(w.line))
		w.line = nil
	}
	w.talked()
}

// dies reports whether what has been written is an account of a death by now, and
// not a lock's own line that begins like one: it has a goroutine in it.
func (w *lastWords) dies() bool {
	for _, line := range w.account {
		if strings.HasPrefix(line, "goroutine ") {
			return true
		}
	}
	return false
}

// frame is a function in a stack trace, without its arguments.
var frame = regexp.MustCompile(`^((?:[\w.~-]+/)*[\w.~-]+\.[\w.()*\[\]]+)\(`)

// String gives the words in one line: what went wrong, and in which function.
func (w *lastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.account) == 0 {
		return w.last
	}
	words, _, _ := strings.Cut(w.account[0], " [recovered")
	if where := culprit(w.account[1:]); where != "" {
		words += ", in " + where
	}
	return words
}

// culprit finds in a stack trace the function that a goroutine died in: the first
// of the first goroutine that is not Go's own. One that has panicked has what was
// deferred on top of it, above the panic.
func culprit(trace []string) string {
	found := ""
	for _, line := range trace {
		switch m := frame.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "panic("):
			found = ""
		case strings.HasPrefix(line, "created by "):
			return found
		case m != nil && found == "" && !goes.MatchString(m[1]):
			found = m[1]
		}
	}
	return found
}

// goes are Go's own functions that a goroutine may die in on behalf of others.
var goes = regexp.MustCompile(`^(runtime|sync|internal/)\b`)

// inherited reports whether a child died of what an earlier trial has left in the
// process: Go ends a process in which one bubble uses what was made in another.
func (d *death) inherited() bool {
	return strings.Contains(d.words, "synctest channel from outside bubble")
}
