package main

import (
	"github.com/spf13/cobra"

	"example.org/lockproof/harness/suite"
)

// trialsCommand runs trials in virtual time for another process of this program,
// which starts it so as not to die of them; it is not for users.
func (p *program) trialsCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "trials",
		Short:  "Run trials in virtual time, by orders on stdin",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := suite.ServeTrials(p.in, p.out); err != nil {
				return failed(err)
			}
			return nil
		},
	}
}
