//go:build unix

package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// surviveBrokenPipes makes a write to a pipe that nobody reads an error: by
// itself, Go ends a program so that writes to its output. The signal is not
// ignored, for then the programs that are started would ignore it as well.
func surviveBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
