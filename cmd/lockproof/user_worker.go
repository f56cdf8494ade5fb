package main

import (
	"context"
	"errors"
	"os/exec"

	"example.org/lockproof/harness/external"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
)

// useWorker makes the user's program the lock under test.
func (p *program) useWorker(ctx context.Context, o *suite.Options, line string) error {
	ctx, stop := p.interruptible(ctx)
	defer stop()
	command, err := external.Split(line)
	switch {
	case err != nil:
		return usage("--worker: %w", err)
	case o.Lock != "":
		return usage("--lock %s and --worker %s: give one of them", o.Lock, line)
	case o.Cluster == suite.Virtual:
		return usage("--worker %s: a program runs in real time: give it with --on local or --on docker", line)
	case p.causes:
		return usage("--cause and --worker: experiments need virtual time, where no program runs; leave out --cause")
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return usage("--worker: there is no program %s: name one that is in PATH, or give its path", command[0])
	}
	kind, err := registerWorker(ctx, command, false)
	o.Lock, o.Worker = kind.Name, command
	return err
}

// registerWorker makes a program a lock under test, by its hello.
func registerWorker(ctx context.Context, command []string, renews bool) (locks.Kind, error) {
	kind, err := external.Kind(ctx, command, renews)
	switch {
	case ctx.Err() != nil:
		return kind, errInterrupted
	case err != nil:
		return kind, usage("--worker: %w", err)
	}
	locks.Register(kind)
	return kind, nil
}

// errInterrupted ends a run that was interrupted before it began: nothing was decided.
var errInterrupted = &exit{reports.ExitInconclusive, errors.New("interrupted before the first row")}

// preflight acquires and releases the program's lock without faults before any row: a failure there is a mistake in the
// program, and would spoil every row.
func (p *program) preflight(ctx context.Context, o suite.Options) error {
	ctx, stop := p.interruptible(ctx)
	defer stop()
	// A lock that hangs takes a minute in each attempt. Only the events count, so a second attempt is enough.
	o.Out, o.Notices, o.Retries = "", p.err, 1
	found, err := suite.Preflight(ctx, o, p.suite)
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil:
		return usage("--worker, before any row: %w", err)
	}
	kind, err := locks.Find(o.Lock)
	if found.Renews {
		kind, err = registerWorker(ctx, o.Worker, true)
	}
	if err == nil && len(found.Notices) > 0 {
		kind.Notices = found.Notices
		locks.Register(kind)
	}
	return err
}
