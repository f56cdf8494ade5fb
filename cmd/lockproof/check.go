package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
)

func (p *program) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check HISTORY.jsonl",
		Short: "Judge a history that a run has kept",
		Long: `Judges a history by itself: the verdict on each property, what happened in
each violation, and a drawing of who held the lock and who owned its keys. A
history that is too long is not drawn. Exit code as for run, using the
expectations recorded in the file.`,
		Example: "  lockproof check out/trials/clock-jump-forward/000/history.jsonl",
		Args:    arguments(1, 1, "one history file"),
		RunE:    func(_ *cobra.Command, args []string) error { return p.check(args[0]) },
	}
}

func (p *program) check(path string) error {
	h, err := reports.OpenHistory(path)
	if err != nil {
		return usage("%w%s", err, historyNear(path))
	}
	if h.Cut != nil {
		fmt.Fprintf(p.err, "lockproof: %s: %v\n", path, h.Cut)
	}
	verdict, err := h.Verdict()
	var disagreement *checker.OracleDisagreement
	if errors.As(err, &disagreement) {
		return failed(err)
	}
	if err != nil {
		return usage("%w", reports.NameHistory(path, err))
	}
	text := reports.VerdictText(h, verdict, p.screen)
	trial := reports.TrialOf(verdict)
	standing, why := trial.Standing()
	fmt.Fprintf(p.out, "%s%s: %s\n", text, standing, why)
	return exitError(reports.New([]suite.Result{trial}, reports.Run{}).ExitCode(), nil)
}

// historyNear names a history of the run that a file or folder belongs to, "" for none.
func historyNear(path string) string {
	for _, folder := range []string{path, filepath.Dir(path)} {
		found, _ := filepath.Glob(filepath.Join(folder, "trials", "*", "*", "history.jsonl"))
		if len(found) > 0 {
			return "; a history of this run is " + found[0]
		}
	}
	return ""
}
