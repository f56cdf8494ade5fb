package main

import "github.com/spf13/cobra"

func (p *program) cleanCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "Remove what killed runs left behind",
		Long: `Ends the servers and clients, and removes the folders, of runs that were killed
before they could do so themselves. Runs that are alive are left alone. Every
run does this when it begins; the command is for doing it now.`,
		Example: "  lockproof clean",
		Args:    arguments(0, 0, "nothing"),
		RunE: func(*cobra.Command, []string) error {
			if err := p.clean(p.out); err != nil {
				return failed(err)
			}
			return nil
		},
	}
}
