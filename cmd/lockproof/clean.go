package main

import "github.com/spf13/cobra"

func (p *program) cleanCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "Remove what killed runs left behind",
		Long: `Ends the servers and clients of runs that were killed, and removes their folders,
containers and networks. Each run does the same when it begins. This command
also removes Lockproof's unused images, lockproof:compose among them.

Live runs are not touched, and neither is anything that is not Lockproof's. If a run
pulled debian:bookworm-slim, docker rmi removes it.`,
		Example: "  lockproof clean",
		Args:    arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.clean(cmd.Context(), p.out); err != nil {
				return failed(err)
			}
			return nil
		},
	}
}
