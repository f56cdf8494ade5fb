package main

import (
	"errors"
	"os/exec"

	"github.com/spf13/cobra"

	"example.org/lockproof/harness/external"
	"example.org/lockproof/reports"
)

// workerCheckCommand checks only the protocol of a user's worker.
func (p *program) workerCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "worker-check CMD",
		Short: "Check that a program keeps to the client protocol",
		Long: `Starts the program, a lock in any language, as two clients, sends them every command,
and reports where they break the protocol of docs/client-protocol.md. The servers are
simulated: no Redis is needed.

Exit codes: 0 the worker keeps to the protocol; 1 it does not; 4 interrupted; 3 the
harness itself failed; 64 bad usage.`,
		Example: `  lockproof worker-check 'python3 my_lock.py'`,
		Args:    arguments(1, 1, "the worker's command line, in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			command, err := external.Split(args[0])
			if err != nil {
				return usage("%w", err)
			}
			ctx, stop := p.interruptible(cmd.Context())
			defer stop()
			err = external.Check(ctx, command, p.out)
			var noProgram *exec.Error
			switch {
			case errors.Is(err, external.ErrWrong):
				return &exit{1, err}
			case ctx.Err() != nil:
				return &exit{reports.ExitInconclusive, errors.New("interrupted: the worker was not checked to the end")}
			case errors.As(err, &noProgram):
				return usage("%w", err)
			case err != nil:
				return failed(err)
			}
			return nil
		},
	}
}
