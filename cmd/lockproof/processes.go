package main

import (
	"io"

	"github.com/spf13/cobra"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/suite"
)

// processCommands are the processes of a run, with commands on stdin. The
// harness starts them; they are not for users.
func (p *program) processCommands() []*cobra.Command {
	serve := func(name, short string, run func(io.Reader, io.Writer) error, out io.Writer) *cobra.Command {
		return &cobra.Command{Use: name, Short: short, Hidden: true, Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				if err := run(p.in, out); err != nil {
					return failed(err)
				}
				return nil
			}}
	}
	return []*cobra.Command{
		serve("worker", "Serve as one client of a run", client.ServeWorker, p.rawOut),
		serve("trials", "Run trials in virtual time", suite.ServeTrials, p.rawOut), // a crash must not end the program
	}
}
