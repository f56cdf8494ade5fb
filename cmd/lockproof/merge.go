package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.org/lockproof/reports"
	"example.org/lockproof/scenarios"
)

func (p *program) mergeCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "merge DIR ...",
		Short: "Merge the slices of a run",
		Long: `Merges the output folders of a run's slices into one: results.json, junit.xml,
summary.md, report.html and the histories. It prints and exits as one run of all
slices would.

Slices that are missing, interrupted or killed are named, and the result is
inconclusive unless something differs. Run these slices again, and merge again.

Slices of different clusters, versions, seeds or scenarios, and a slice that is given
twice, are refused, and nothing is written.`,
		Example: `  lockproof merge slices/1 slices/2 slices/3 slices/4
  lockproof merge slices/* --out out`,
		Args: arguments(1, -1, "the output folders of the slices"),
		RunE: func(_ *cobra.Command, args []string) error {
			args, err := slicesOf(args, out)
			if err != nil {
				return err
			}
			return p.merge(args, out)
		},
	}
	cmd.Flags().StringVar(&out, "out", "out", "folder for the results and histories of the whole")
	p.verboseFlag(cmd)
	return cmd
}

func (p *program) merge(folders []string, out string) error {
	if err := checkFolders(out, folders); err != nil {
		return err
	}
	parts, err := readRuns(p.finished(folders))
	if err != nil {
		return usage("%w", err)
	}
	merged, err := reports.Merge(parts, out)
	if err != nil {
		return usage("%w", err)
	}
	for _, s := range parts {
		err = errors.Join(err, s.CheckHistories())
	}
	if err != nil {
		return usage("%w", err)
	}
	known, err := scenarios.Catalogue()
	if err != nil {
		return failed(err)
	}
	folder, err := openOutFolder(out, false)
	if err != nil {
		return err
	}
	defer folder.Close()
	for _, s := range parts {
		if err := s.CopyHistories(out); err != nil {
			return failed(err)
		}
	}
	return p.report(merged, known)
}

// finished removes the folders of unfinished runs, and reports them.
func (p *program) finished(folders []string) []string {
	return slices.DeleteFunc(slices.Clone(folders), func(dir string) bool {
		if !reports.IsUnfinished(dir) {
			return false
		}
		fmt.Fprintf(p.err, "lockproof: %s has no results: its run was killed or is still running\n", dir)
		return true
	})
}

// readRuns reads every run, and returns all errors.
func readRuns(folders []string) ([]*reports.Report, error) {
	var runs []*reports.Report
	var problems []error
	for _, dir := range folders {
		run, err := reports.Read(dir)
		if err != nil {
			problems = append(problems, err)
		}
		runs = append(runs, run)
	}
	return runs, errors.Join(problems...)
}

// slicesOf are the folders of the arguments. It expands patterns itself, as there may be no
// shell, in a container or on Windows, and skips the folder of an earlier merge.
func slicesOf(args []string, out string) ([]string, error) {
	var folders []string
	for _, arg := range args {
		if _, err := os.Lstat(arg); err == nil || !strings.ContainsAny(arg, "*?[") {
			folders = append(folders, arg)
			continue
		}
		matched, err := filepath.Glob(arg)
		if err != nil {
			return nil, usage("%s: %w", arg, err)
		}
		matched = slices.DeleteFunc(matched, func(dir string) bool { return sameFolder(out, dir) })
		if len(matched) == 0 {
			return nil, usage("%s matches no folder other than --out", arg)
		}
		folders = append(folders, matched...)
	}
	return folders, nil
}

// checkFolders refuses an output folder that is one of the slices.
func checkFolders(out string, folders []string) error {
	if slices.ContainsFunc(folders, func(dir string) bool { return sameFolder(out, dir) }) {
		return usage("--out %s is one of the slices, whose results it would replace: name another folder", out)
	}
	return nil
}

// sameFolder reports whether two paths lead to one existing folder.
func sameFolder(a, b string) bool {
	one, err := os.Stat(a)
	other, errOther := os.Stat(b)
	return err == nil && errOther == nil && os.SameFile(one, other)
}
