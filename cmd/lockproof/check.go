package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"lockproof/checker"
	"lockproof/harness"
	"lockproof/harness/history"
	"lockproof/reports"
)

func (p *program) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check HISTORY.jsonl",
		Short: "Judge a history that a run has kept",
		Long: `Judges a history by itself: the verdict on each property, each violation with
what made it inevitable, and a drawing of who held the lock and who owned its
keys. The exit code is that of a run of this one trial, by what the history's
own header expects.`,
		Example: "  lockproof check out/trials/clock-jump-forward/000/history.jsonl",
		Args:    arguments(1, 1, "one history file"),
		RunE:    func(_ *cobra.Command, args []string) error { return p.check(args[0]) },
	}
}

func (p *program) check(path string) error {
	events, err := reports.ReadHistory(path)
	var cut *history.Truncated
	if errors.As(err, &cut) && len(events) > 0 {
		fmt.Fprintf(p.err, "lockproof: %v\n", err)
	} else if err != nil {
		return usage("%w", err)
	}
	verdict, err := checker.Check(events)
	var disagreement *checker.OracleDisagreement
	if errors.As(err, &disagreement) {
		return failed(err)
	}
	if err != nil {
		return usage("%s: %w", path, err)
	}
	if err := p.say(reports.VerdictText(events, verdict, p.screen)); err != nil {
		return err
	}
	trial := reports.TrialOf(verdict)
	standing, why := trial.Standing()
	if err := p.say(fmt.Sprintf("%s: %s\n", standing, why)); err != nil {
		return err
	}
	if code := reports.New([]harness.Trial{trial}, reports.Run{}).ExitCode(); code != 0 {
		return &exit{code: code}
	}
	return nil
}
