package suite

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"sync"
)

// crashLog takes what a child writes to stderr, and keeps what it may be asked
// for when it has died: the beginning of Go's own account of its death, or else
// its last line.
type crashLog struct {
	passThrough io.Writer // takes what is not such an account

	mu     sync.Mutex
	line   []byte   // that has not ended
	last   string   // line that was not empty
	report []string // lines
}

// reportLines is how much of an account is kept: the goroutine that died comes
// first.
const reportLines = 40

// lineLength is how much of a line is kept.
const lineLength = 1000

// panicStart begins Go's account of a death.
var panicStart = regexp.MustCompile(`^(panic: |fatal error: |runtime: |SIG[A-Z]+: )`)

// Write takes a piece of what is written.
func (w *crashLog) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for rest := b; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		if room := lineLength - len(w.line); room > 0 {
			w.line = append(w.line, part[:min(room, len(part))]...)
		}
		if ended {
			w.addLine(string(w.line))
			w.line = w.line[:0]
		}
		rest = after
	}
	return len(b), nil
}

// addLine takes a line.
func (w *crashLog) addLine(line string) {
	switch {
	case w.isPanic() || len(w.report) > 0 && len(w.report) < maxPreamble:
		if len(w.report) < reportLines {
			w.report = append(w.report, line)
		}
	case panicStart.MatchString(line):
		w.flush()
		w.report = []string{line}
	default:
		w.flush()
		_, _ = io.WriteString(w.passThrough, line+"\n")
	}
	if line != "" {
		w.last = line
	}
}

// maxPreamble is how many lines an account has at most before its first goroutine.
const maxPreamble = 8

// flush passes on what began like an account and was none.
func (w *crashLog) flush() {
	if !w.isPanic() {
		for _, line := range w.report {
			_, _ = io.WriteString(w.passThrough, line+"\n")
		}
		w.report = nil
	}
}

// end passes on what is left when the child has ended.
func (w *crashLog) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.line) > 0 {
		w.addLine(string(w.line))
		w.line = nil
	}
	w.flush()
}

// isPanic reports whether what has been written is an account of a death by now, and
// not a lock's own line that begins like one: it has a goroutine in it.
func (w *crashLog) isPanic() bool {
	for _, line := range w.report {
		if strings.HasPrefix(line, "goroutine ") {
			return true
		}
	}
	return false
}

// frame is a function in a stack trace, without its arguments.
var frame = regexp.MustCompile(`^((?:[\w.~-]+/)*[\w.~-]+\.[\w.()*\[\]]+)\(`)

// String gives the words in one line: what went wrong, and in which function.
func (w *crashLog) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.report) == 0 {
		return w.last
	}
	words, _, _ := strings.Cut(w.report[0], " [recovered")
	if where := topFrame(w.report[1:]); where != "" {
		words += ", in " + where
	}
	return words
}

// topFrame finds in a stack trace the function that a goroutine died in: the first
// of the first goroutine that is not Go's own. One that has panicked has what was
// deferred on top of it, above the panic.
func topFrame(trace []string) string {
	found := ""
	for _, line := range trace {
		switch m := frame.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "panic("):
			found = ""
		case strings.HasPrefix(line, "created by "):
			return found
		case m != nil && found == "" && !runtimeFrame.MatchString(m[1]):
			found = m[1]
		}
	}
	return found
}

// runtimeFrame are Go's own functions that a goroutine may die in on behalf of others.
var runtimeFrame = regexp.MustCompile(`^(runtime|sync|internal/)\b`)

// causedByEarlierTrial reports whether a child died of what an earlier trial has left in the
// process: Go ends a process in which one bubble uses what was made in another.
func (d *childExit) causedByEarlierTrial() bool {
	return strings.Contains(d.message, "synctest channel from outside bubble")
}
