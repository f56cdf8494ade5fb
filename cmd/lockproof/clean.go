package main

import "github.com/spf13/cobra"

func (p *program) cleanCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "Remove what killed runs left behind",
		Long: `Ends the servers and clients of runs that were killed before they could do so, and
removes their folders; on Docker, their containers, networks and volumes. Each run does
the same when it begins; this command does it now, and also removes Lockproof's images
that no run and no container uses (lockproof:compose, which a docker compose up of your
own has built, among them).

Runs that are alive are left alone, and so is everything that is not Lockproof's:
debian:bookworm-slim, if a run pulled it, stays (docker rmi removes it).`,
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
