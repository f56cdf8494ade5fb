package main

import (
	"errors"
	"io"
	"slices"
	"sync"
	"syscall"
)

// printer is a command's output. After a failed write the command finishes its work, and main reports
// the error. A closed pipe is no error: its reader, like head, has seen enough.
type printer struct {
	mu     sync.Mutex
	to     io.Writer
	failed error // the first error; nothing is written after it
}

func (p *printer) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		_, p.failed = p.to.Write(text)
	}
	return len(text), nil
}

// Err returns the first error, unless it is a closed pipe.
func (p *printer) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.ContainsFunc(brokenPipe, func(broken error) bool { return errors.Is(p.failed, broken) }) {
		return nil
	}
	return p.failed
}

// brokenPipe are the errors of a closed pipe: EPIPE, or ERROR_BROKEN_PIPE and ERROR_NO_DATA of Windows.
var brokenPipe = []error{syscall.EPIPE, syscall.Errno(109), syscall.Errno(232)}

// printResult prints the result of finished work. main reports an error.
func (p *program) printResult(print func(io.Writer) error) { _ = print(p.out) }
