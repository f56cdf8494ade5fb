package suite

import (
	"io"
	"regexp"
	"strings"
	"sync"
)

// crashLog buffers a child's stderr during a trial and forwards it when the trial ends. It keeps Go's crash report.
type crashLog struct {
	passThrough io.Writer

	mu   sync.Mutex
	text []byte
}

const (
	crashLogSize = 64 << 10 // enough for the crashed goroutine, which comes first
	lineLength   = 1000     // of the last line in a report
)

// crashReport is the start of Go's crash report. A lock's own line may begin alike, but no goroutine follows.
var crashReport = regexp.MustCompile(`(?m)^(?:panic: |fatal error: |runtime: |SIG[A-Z]+: )(?:.*\n){1,8}?goroutine `)

// Write implements io.Writer.
func (w *crashLog) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.text) > crashLogSize {
		if crashReport.Match(w.text) {
			return len(b), nil
		}
		w.flush()
	}
	w.text = append(w.text, b...)
	return len(b), nil
}

// flush forwards all but a crash report. w.mu is held.
func (w *crashLog) flush() {
	if at := crashReport.FindIndex(w.text); at != nil {
		_, _ = w.passThrough.Write(w.text[:at[0]])
		w.text = w.text[at[0]:]
		return
	}
	_, _ = w.passThrough.Write(w.text)
	w.text = nil
}

// endTrial forwards the rest of a trial's output.
func (w *crashLog) endTrial() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
}

// frame is a function in a stack trace, without its arguments.
var frame = regexp.MustCompile(`^((?:[\w.~-]+/)*[\w.~-]+\.[\w.()*\[\]]+)\(`)

// end forwards the rest of an exited child's output, and returns its last message in one line, with the function that
// crashed, if any.
func (w *crashLog) end() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.flush()
	text := strings.TrimRight(string(w.text), "\n")
	at := crashReport.FindStringIndex(text)
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

// topFrame returns the function that crashed: the first function of the first goroutine that is not Go's own. In a
// panicked goroutine, deferred functions come first, above the panic.
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

// runtimeFrame matches Go's own functions that may crash because of their caller.
var runtimeFrame = regexp.MustCompile(`^(runtime|sync|internal/)\b`)

// causedByEarlierTrial reports whether leftovers of an earlier trial crashed the child: Go ends a process in which
// one bubble uses another's channel.
func (d *childExit) causedByEarlierTrial() bool {
	return strings.Contains(d.message, "synctest channel from outside bubble")
}
