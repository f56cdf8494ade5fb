package main

import (
	"context"
	"os/exec"

	"example.org/lockproof/harness/external"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
)

// useWorker makes the user's program the lock under test.
func useWorker(ctx context.Context, o *suite.Options, line string) error {
	command, err := external.Split(line)
	switch {
	case err != nil:
		return usage("--worker: %w", err)
	case o.Lock != "":
		return usage("--lock %s and --worker %s: give one of them", o.Lock, line)
	case o.Cluster == suite.Virtual:
		return usage("--worker %s: a program runs in real time: give it with --on local or --on docker", line)
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return usage("--worker: there is no program %s: name one that is in PATH, or give its path", command[0])
	}
	kind, err := external.Kind(ctx, command, false)
	if err != nil {
		return usage("--worker: %w", err)
	}
	locks.Register(kind)
	o.Lock, o.Worker = kind.Name, command
	return nil
}

// preflight acquires and releases the program's lock without faults before any row: a failure there is a mistake in the
// program, and would spoil every row.
func (p *program) preflight(ctx context.Context, o suite.Options) error {
	ctx, stop := p.interruptible(ctx)
	defer stop()
	o.Out, o.Notices = "", p.err
	found, err := suite.Preflight(ctx, o, p.suite.One)
	switch {
	case ctx.Err() != nil:
		return failed(err)
	case err != nil:
		return usage("--worker, before any row: %w", err)
	case !found.Renews:
		return nil
	}
	kind, err := external.Kind(ctx, o.Worker, true)
	if err != nil {
		return usage("--worker: %w", err)
	}
	locks.Register(kind)
	return nil
}
