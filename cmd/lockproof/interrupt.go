package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// exitInterrupted is the exit code after a second interrupt, as a shell gives
// it for a process that SIGINT ended.
const exitInterrupted = 128 + int(syscall.SIGINT)

// interrupts are the signals that interrupt the program, and handled whether
// something is made of them at present.
var (
	interrupts = []os.Signal{os.Interrupt, syscall.SIGTERM}
	handled    atomic.Bool
)

// interruptible gives a context that the first SIGINT or SIGTERM ends: the run
// is wound up and reported. A second one ends the program at once.
func (p *program) interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, interrupts...)
	handled.Store(true)
	done := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-signals:
			}
			if n > 0 {
				p.leave(exitInterrupted)
			}
			io.WriteString(p.err, "\nlockproof: winding up; interrupt again to stop at once\n")
			cancel()
		}
	}()
	return ctx, func() {
		handled.Store(false)
		signal.Stop(signals)
		close(done)
		cancel()
	}
}
