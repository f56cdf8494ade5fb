package main

import (
	"github.com/spf13/cobra"

	"example.org/lockproof/harness/client"
)

// workerCommand is a client of a run, as a process of its own. The harness
// starts it; it is not for users.
func (p *program) workerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "worker",
		Short:  "Serve as one client of a run, by commands on stdin",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := client.ServeWorker(p.in, p.rawOut); err != nil {
				return failed(err)
			}
			return nil
		},
	}
}
