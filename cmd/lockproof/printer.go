package main

import (
	"errors"
	"io"
	"slices"
	"sync"
	"syscall"
)

// printer is where a command prints. Where that cannot be written, the command does its work all the
// same, and main says so at its end; a reader who has left, as head does, has seen enough.
type printer struct {
	mu     sync.Mutex
	to     io.Writer
	failed error // of the first write that failed; nothing is written after it
}

func (p *printer) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		_, p.failed = p.to.Write(text)
	}
	return len(text), nil
}

// Err says why something could not be written, unless its reader has left.
func (p *printer) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.ContainsFunc(brokenPipe, func(broken error) bool { return errors.Is(p.failed, broken) }) {
		return nil
	}
	return p.failed
}

// brokenPipe are the errors of a write that nobody reads: EPIPE, or ERROR_BROKEN_PIPE and ERROR_NO_DATA of Windows.
var brokenPipe = []error{syscall.EPIPE, syscall.Errno(109), syscall.Errno(232)}

// printResult prints what came of work that is done and kept.
func (p *program) printResult(print func(io.Writer) error) { _ = print(p.out) }
