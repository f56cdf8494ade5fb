package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"example.org/lockproof/reports"
)

func (p *program) compareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compare DIR DIR ...",
		Short: "Compare the verdicts of several runs",
		Long: `Shows the verdicts of two or more runs side by side, each given by its output
folder: for example, on several clusters, with several locks, or of two versions.
It marks rows on which the runs disagree: the worst verdicts on a property differ,
or the intervals of its violation rates do not overlap. Skipped rows are listed
with the reason.

Exit codes: 0 the runs agree; 1 they disagree on a row; 4 they do not, but a row
is missing in a run, or was not decided there, or a run was interrupted; 64 bad usage
or a bad file.`,
		Example: `  lockproof compare out/virtual out/local out/docker
  lockproof compare out/before out/after`,
		Args: arguments(2, -1, "the output folders of at least two runs"),
		RunE: func(_ *cobra.Command, args []string) error { return p.compare(args) },
	}
}

func (p *program) compare(folders []string) error {
	runs, err := readRuns(folders)
	if err != nil {
		return usage("%w", err)
	}
	comparison := reports.Compare(runs)
	fmt.Fprint(p.out, comparison.Text(p.screen))
	if comparison.ExitCode != 0 {
		return &exit{code: comparison.ExitCode}
	}
	return nil
}
