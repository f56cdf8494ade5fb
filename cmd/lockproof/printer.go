package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
)

// printer is where a command prints. Once its reader has left, as head does, it
// takes what it is given and lets it go: the command does its work all the same,
// and its exit code is that of what it found.
type printer struct {
	mu     sync.Mutex
	to     io.Writer
	closed bool
}

func (p *printer) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return len(text), nil
	}
	n, err := p.to.Write(text)
	if slices.ContainsFunc(brokenPipe, func(broken error) bool { return errors.Is(err, broken) }) {
		p.closed = true
		return len(text), nil
	}
	return n, err
}

// brokenPipe are the errors of a write that nobody reads: EPIPE, or ERROR_BROKEN_PIPE and ERROR_NO_DATA of Windows.
var brokenPipe = []error{syscall.EPIPE, syscall.Errno(109), syscall.Errno(232)}

// ignoreBrokenPipe keeps the program from ending with the reader of what it prints, as Go has it by itself. The signal
// is caught, and not ignored: the programs that are started would ignore it as well.
func (p *program) ignoreBrokenPipe() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	p.out = &printer{to: p.out}
}

// tell prints text as printResult does.
func (p *program) tell(text string) {
	p.printResult(func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}

// printResult prints what came of work that is done and kept, or whose answer is the exit
// code: where that cannot be printed, it complains, and the exit code stays.
func (p *program) printResult(print func(io.Writer) error) {
	if err := print(p.out); err != nil {
		fmt.Fprintf(p.err, "lockproof: cannot print the rest: %v\n", err)
	}
}
