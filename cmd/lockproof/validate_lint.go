package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"example.org/lockproof/reports"
	"example.org/lockproof/reports/validation"
	"example.org/lockproof/validate"
	"example.org/lockproof/validate/deploy"
	"example.org/lockproof/validate/settings"
)

// lintTrials is the number of trials of each crash of a linted server.
const lintTrials = 3

// lint judges each deployment below directories, with one line for each finding.
func (p *program) lint(ctx context.Context, v validateFlags) error {
	v.format = cmp.Or(v.format, "text")
	var found []validation.Finding
	worst, judged := 0, 0
	for _, arg := range v.files {
		groups := [][]string{{arg}}
		if isFolder(arg) {
			var err error
			if groups, err = deploy.Group(arg); err != nil {
				return usage("%s: %w", arg, err)
			}
		}
		for _, files := range groups {
			answers, err := p.lintGroup(ctx, v, files)
			var problem *settings.Problem
			if errors.As(err, &problem) { // a problem of one file, so the others are still judged
				judged, worst = judged+1, worse(worst, reports.ExitInconclusive)
				found = append(found, validation.Finding{ID: "LP018", Verdict: validate.Inconclusive, Place: problem.Place,
					Message: problem.What + "; " + problem.Right})
			} else if err != nil {
				return err
			}
			for _, a := range answers {
				worst, found = worse(worst, a.ExitCode), append(found, a.Findings()...)
			}
			judged += len(answers)
		}
	}
	if judged == 0 {
		return usage("%s: no deployment of a Redis or Valkey is here; %s", strings.Join(v.files, ", "), deploy.Wanted)
	}
	p.printResult(func(w io.Writer) error { return validation.WriteFindings(w, v.format, found) })
	return exitError(worst, nil)
}

// worse returns the exit code that outranks the other: 1 outranks 3 outranks 4.
func worse(a, b int) int {
	for _, code := range []int{reports.ExitDiffers, reports.ExitFailed, reports.ExitInconclusive} {
		if a == code || b == code {
			return code
		}
	}
	return 0
}

// lintGroup judges each server of one deployment.
func (p *program) lintGroup(ctx context.Context, v validateFlags, files []string) (all []*validation.Report,
	err error) {
	d, err := deploy.Read(files, deploy.Options{Set: v.Set, Ignore: v.Ignore})
	if err != nil {
		return nil, usage("%w", err)
	}
	v.files, v.Trials, v.json, v.verbose = files, lintTrials, false, false
	for _, s := range d.Servers {
		v.Service = ""
		if len(d.Servers) > 1 {
			v.Service = s.Name
		}
		answer, err := p.answer(ctx, v)
		if err != nil {
			return nil, err
		}
		all = append(all, answer)
	}
	return all, nil
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
