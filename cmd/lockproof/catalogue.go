package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"example.org/lockproof/harness/locks"
	"example.org/lockproof/internal/plain"
	"example.org/lockproof/reports"
	"example.org/lockproof/scenarios"
)

func (p *program) listCommand() *cobra.Command {
	var ofLocks bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the scenarios of the catalogue, or the locks",
		Example: "  lockproof list\n  lockproof list --locks",
		Args:    arguments(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if ofLocks {
				return p.listLocks()
			}
			all, err := scenarios.Catalogue()
			if err != nil {
				return failed(err)
			}
			fmt.Fprint(p.out, reports.Catalogue(all, p.screen))
			return nil
		},
	}
	cmd.Flags().BoolVar(&ofLocks, "locks", false, "list the locks that --lock accepts, with a description")
	return cmd
}

func (p *program) listLocks() error {
	for _, name := range locks.Names() {
		kind, err := locks.Find(name)
		if err != nil {
			return failed(err)
		}
		fmt.Fprint(p.out, p.screen.Wrap(fmt.Sprintf("%-29s ", name), kind.Doc))
	}
	return nil
}

func (p *program) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show a scenario: its lesson, its schedule, and what to expect",
		Long: `Prints the file of a scenario: the lesson, its sources, the schedule step by step,
the verdicts to expect, and the variants. A comment above it has the defaults. Use it
as a start for a scenario of your own.`,
		Example: "  lockproof show client-pause\n  lockproof show client-pause > mine.yaml && lockproof run mine.yaml",
		Args:    arguments(1, 1, "one scenario's name or file"),
		RunE: func(_ *cobra.Command, args []string) error {
			selected, err := scenarios.Select(args)
			if err != nil {
				return usage("%w", err)
			}
			for _, s := range selected {
				text, err := scenarios.Text(s)
				if err != nil {
					return usage("%w", err)
				}
				fmt.Fprint(p.out, reports.ScenarioHead(s, p.screen), plain.Text(string(text)))
			}
			return nil
		},
	}
}
