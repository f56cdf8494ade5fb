package suite

import (
	"io"
	"regexp"
	"strings"
	"sync"
)

// crashLog takes what a child writes to stderr during a trial, and passes it on when that has ended. Go's own account
// of a death is kept.
type crashLog struct {
	passThrough io.Writer

	mu   sync.Mutex
	text []byte
}

const (
	crashLogSize = 64 << 10 // of what is kept: the goroutine that died comes first
	lineLength   = 1000     // of a line that is told
)

// account is how Go's account of a death begins; a lock's own line may begin so too, but has no goroutine behind it.
var account = regexp.MustCompile(`(?m)^(?:panic: |fatal error: |runtime: |SIG[A-Z]+: )(?:.*\n){1,8}?goroutine `)

// Write takes a piece of what is written.
func (w *crashLog) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.text) > crashLogSize {
		if account.Match(w.text) {
			return len(b), nil
		}
		w.flush()
	}
	w.text = append(w.text, b...)
	return len(b), nil
}

// flush passes on what is no account of a death. w.mu is held.
func (w *crashLog) flush() {
	if at := account.FindIndex(w.text); at != nil {
		_, _ = w.passThrough.Write(w.text[:at[0]])
		w.text = w.text[at[0]:]
		return
	}
	_, _ = w.passThrough.Write(w.text)
	w.text = nil
}

// endTrial passes on what is left of a trial.
func (w *crashLog) endTrial() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
}

// frame is a function in a stack trace, without its arguments.
var frame = regexp.MustCompile(`^((?:[\w.~-]+/)*[\w.~-]+\.[\w.()*\[\]]+)\(`)

// end passes on what is left of a child that has ended, and gives in one line what it wrote last: what went wrong, and
// in which function, if Go says so.
func (w *crashLog) end() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.flush()
	text := strings.TrimRight(string(w.text), "\n")
	at := account.FindStringIndex(text)
	if at == nil {
		last := text[strings.LastIndex(text, "\n")+1:]
		return last[:min(len(last), lineLength)]
	}
	trace := strings.Split(text[at[0]:], "\n")
	words, _, _ := strings.Cut(trace[0], " [recovered")
	if where := topFrame(trace[1:]); where != "" {
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
