package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// exitInterrupted is the exit code after a second interrupt, as in a shell for
// a process that SIGINT ended.
const exitInterrupted = 128 + int(syscall.SIGINT)

// copyDelay is longer than the time from a signal to its copy, and shorter than from one Ctrl-C to the next.
const copyDelay = 100 * time.Millisecond

// interruptible returns a context that the first SIGINT or SIGTERM ends: the run winds up and
// reports. A later SIGINT ends the program at once, but not a copy of the first signal: timeout(1)
// and other wrappers send it to the process, and then to its group.
func (p *program) interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		var first time.Time
		for {
			var got os.Signal
			select {
			case <-done:
				return
			case got = <-signals:
			}
			switch {
			case ctx.Err() == nil:
				p.notify("lockproof: winding up; interrupt again to stop at once")
				first = time.Now()
				cancel()
			case got == os.Interrupt && time.Since(first) > copyDelay:
				io.WriteString(p.err, "lockproof: stopped; the next run, or lockproof clean, removes what it leaves behind\n")
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
