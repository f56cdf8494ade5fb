package main

import (
	"errors"

	"github.com/spf13/cobra"

	"lockproof/harness/foreign"
)

// workerCheckCommand tries a user's worker against the protocol alone.
func (p *program) workerCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "worker-check CMD",
		Short: "Try a program that is to be a lock's client against the protocol",
		Long: `Starts two clients of a lock that is a program in any language, gives them every
command, and says what of docs/client-protocol.md they do not keep to. Its servers
are this process's: no Redis is needed.

Exit codes: 0 the worker keeps to the protocol; 1 it does not; 64 bad usage.`,
		Example: `  lockproof worker-check 'python3 my_lock.py'`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			command, err := foreign.Split(args[0])
			if err != nil {
				return usage("%w", err)
			}
			err = foreign.Check(cmd.Context(), command, p.out)
			if errors.Is(err, foreign.ErrWrong) {
				return &exit{1, err}
			}
			return err
		},
	}
}
