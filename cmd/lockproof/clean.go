package main

import "github.com/spf13/cobra"

func (p *program) cleanCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "Remove what killed runs left behind",
		Long: `Ends the servers and clients, and removes the folders, of runs that were killed
before they could do so themselves; on Docker their containers, networks and
volumes, and the images that no run and no container uses, lockproof:compose among
them, which a docker compose up of your own has built. Runs that are alive are left
alone, and so is everything that is not Lockproof's: debian:bookworm-slim, if a run
pulled it, stays (docker rmi removes it). Every run does this when it begins, but for the
images; the command is for doing it now.`,
		Example: "  lockproof clean",
		Args:    arguments(0, 0, "nothing"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.clean(cmd.Context(), p.out); err != nil {
				return failed(err)
			}
			return nil
		},
	}
}
