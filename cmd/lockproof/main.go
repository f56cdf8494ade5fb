// Command lockproof puts a Redis lock through everything that can go wrong and
// says whether two clients ever held it at once.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"lockproof/harness"
)

// The exit codes that no report gives. docs/results.md lists them all.
const (
	exitFailed = 3  // the harness itself failed
	exitUsage  = 64 // bad usage or a bad file, as in sysexits.h
)

func main() {
	p := &program{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		suite: harness.RunSuite, clean: harness.Clean,
	}
	p.look(os.Stdout)
	os.Exit(p.main(context.Background(), os.Args[1:]))
}

// exit is an error that knows its exit code. Its cause is nil where all has
// been said already.
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

// main runs the command that args name and gives the exit code.
func (p *program) main(ctx context.Context, args []string) int {
	err := p.execute(ctx, args)
	if err == nil {
		return 0
	}
	// What cobra itself complains of is how it was called.
	e := &exit{exitUsage, err}
	errors.As(err, &e)
	if e.cause != nil {
		p.complain(e)
	}
	return e.code
}

func (p *program) complain(e *exit) {
	fmt.Fprintf(p.err, "lockproof: %v\n", e.cause)
	if e.code == exitUsage {
		io.WriteString(p.err, "lockproof --help lists the commands, and lockproof COMMAND --help says what one takes.\n")
	}
}
