package main

import (
	"errors"
	"fmt"
	"io"

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
	each := func(visit func(*history.Event) error) error {
		err := file.Each(visit)
		if errors.As(err, &cut) { // it has been told
			return nil
		}
		return err
	}
	verdict, err := checker.CheckSource(each)
	var disagreement *checker.OracleDisagreement
	if errors.As(err, &disagreement) {
		return failed(err)
	}
	if err != nil {
		return usage("%w", reports.NameHistory(path, err))
	}
	text, err := p.verdictText(path, each, verdict)
	if err != nil {
		return usage("%w", err)
	}
	trial := reports.TrialOf(verdict)
	standing, why := trial.Standing()
	p.tell(func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s%s: %s\n", text, standing, why)
		return err
	})
	return conclude(reports.New([]suite.Trial{trial}, reports.Run{}).ExitCode(), nil)
}

// verdictText tells the verdict on a history with drawings: of all of it, or where
// it is long, of what is around each violation.
func (p *program) verdictText(path string, each checker.Source, verdict checker.Verdict) (string, error) {
	events, err := reports.ReadToDraw(path)
	var cut *history.Truncated
	switch {
	case errors.Is(err, reports.ErrTooLong):
		return reports.LongVerdictText(each, verdict, p.screen)
	case err != nil && !errors.As(err, &cut):
		return "", err
	}
	return reports.VerdictText(events, verdict, p.screen), nil
}
