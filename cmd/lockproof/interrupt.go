package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// exitInterrupted is the exit code after a second interrupt, as a shell gives
// it for a process that SIGINT ended.
const exitInterrupted = 128 + int(syscall.SIGINT)

// sameInterrupt is how soon after the first a signal is still that one: timeout(1) sends it to the process, and then to
// its group.
const sameInterrupt = 200 * time.Millisecond

// interruptible gives a context that the first SIGINT or SIGTERM ends: the run
// is wound up and reported. A later one ends the program at once.
func (p *program) interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		var first time.Time
		for {
			select {
			case <-done:
				return
			case <-signals:
			}
			switch {
			case first.IsZero():
				first = time.Now()
				io.WriteString(p.err, "\nlockproof: winding up; interrupt again to stop at once\n")
				cancel()
			case time.Since(first) > sameInterrupt:
				p.exitNow(exitInterrupted)
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}
