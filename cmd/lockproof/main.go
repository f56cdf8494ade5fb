package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	_ "example.org/lockproof/harness/cluster/docker" // registers the docker cluster
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/plain"
	"example.org/lockproof/reports"
	"example.org/lockproof/reports/terminal"
	"example.org/lockproof/scenarios"
)

// The exit codes that reports do not have. docs/results.md lists them all.
const (
	exitFailed = 3  // the harness itself failed
	exitUsage  = 64 // bad usage or a bad file, as in sysexits.h
)

func main() {
	children := &suite.Children{Stderr: os.Stderr}
	p := &program{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		suite: children.Run, pool: children.Pool, clean: suite.Clean, exitNow: os.Exit,
	}
	p.detectTerminal(os.Stdout, os.Stderr)
	code := p.main(context.Background(), os.Args[1:])
	children.Close()
	os.Exit(code)
}

// exit is an error with an exit code. Its cause is nil if everything is printed
// already.
type exit struct {
	code  int
	cause error
}

func (e *exit) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.cause.Error()
}

func (e *exit) Unwrap() error { return e.cause }

func usage(format string, args ...any) error {
	return &exit{exitUsage, fmt.Errorf(format, args...)}
}

func failed(err error) error {
	return &exit{exitFailed, err}
}

// main runs the command that args name and returns the exit code. Its output may
// come from any file, so only plain text reaches the terminal.
func (p *program) main(ctx context.Context, args []string) int {
	p.rawOut, p.rawErr = p.out, p.err
	printed := &printer{to: p.out}
	p.out, p.err = plain.NewWriter(printed, p.screen.Colour), plain.NewWriter(p.err, false)
	err := p.execute(ctx, args)
	e := &exit{}
	if err != nil && !errors.As(err, &e) {
		e = &exit{exitUsage, err} // cobra's own errors are about the usage
	}
	if errors.Is(err, syscall.ENAMETOOLONG) {
		e.code = exitUsage // the user gave the name
	}
	if err := printed.Err(); err != nil && e.cause == nil {
		e.cause = fmt.Errorf("cannot print the rest: %w", err)
		if e.code != reports.ExitDiffers {
			e.code = exitFailed
		}
	}
	if e.cause != nil {
		p.printError(e)
	}
	return e.code
}

// printError prints an error and where to read more. On a terminal it wraps lines between words.
func (p *program) printError(e *exit) {
	text := fmt.Sprintf("lockproof: %v\n", e.cause)
	var problem *scenarios.Problem
	switch {
	case errors.As(e.cause, &problem):
		text += "docs/scenarios.md describes scenario files.\n"
	case e.code == exitUsage:
		text += "See " + p.command + " --help.\n"
	}
	for line := range strings.Lines(text) {
		if p.errWidth > 0 {
			line = terminal.Screen{Width: p.errWidth}.Wrap("", strings.TrimSuffix(line, "\n"))
		}
		io.WriteString(p.err, line)
	}
}
