package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"lockproof/checker"
	"lockproof/harness/history"
	"lockproof/harness/suite"
	"lockproof/reports"
)

func (p *program) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check HISTORY.jsonl",
		Short: "Judge a history that a run has kept",
		Long: `Judges a history by itself: the verdict on each property, each violation with
what made it inevitable, and a drawing of who held the lock and who owned its
keys. A long history without a violation is not drawn. The exit code is that of
a run of this one trial, by what the history's own header expects.`,
		Example: "  lockproof check out/trials/clock-jump-forward/000/history.jsonl",
		Args:    arguments(1, 1, "one history file"),
		RunE:    func(_ *cobra.Command, args []string) error { return p.check(args[0]) },
	}
}

func (p *program) check(path string) error {
	file, err := history.OpenFile(path)
	var cut *history.Truncated
	if errors.As(err, &cut) {
		fmt.Fprintf(p.err, "lockproof: %s: %v\n", path, err)
	} else if err != nil {
		return usage("%w", reports.NameHistory(path, err))
	}
	verdict, err := checker.CheckSource(func(visit func(*history.Event) error) error {
		err := file.Each(visit)
		if errors.As(err, &cut) { // it has been told
			return nil
		}
		return err
	})
	var disagreement *checker.OracleDisagreement
	if errors.As(err, &disagreement) {
		return failed(err)
	}
	if err != nil {
		return usage("%w", reports.NameHistory(path, err))
	}
	events, err := toDraw(path, verdict)
	if err != nil {
		return usage("%w", err)
	}
	trial := reports.TrialOf(verdict)
	standing, why := trial.Standing()
	p.tell(func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s%s: %s\n", reports.VerdictText(events, verdict, p.screen), standing, why)
		return err
	})
	return conclude(reports.New([]suite.Trial{trial}, reports.Run{}).ExitCode(), nil)
}

// toDraw reads what there is to be drawn of a history: all of it where it shows a
// violation, and nothing of one that is long and shows none.
func toDraw(path string, verdict checker.Verdict) ([]history.Event, error) {
	read := reports.ReadToDraw
	if slices.ContainsFunc(verdict.Results, func(r checker.Result) bool { return len(r.Violations) > 0 }) {
		read = reports.ReadHistory
	}
	events, err := read(path)
	var cut *history.Truncated
	if errors.Is(err, reports.ErrTooLong) || errors.As(err, &cut) {
		return events, nil
	}
	return events, err
}
