package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"example.org/lockproof/explore"
)

// hasSearch says whether a folder has what a search has come to.
func hasSearch(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, explore.ResultsFile))
	return err == nil
}

// mergeSearch makes one search of its slices, and runs what was found once more, to
// tell of it.
func (p *program) mergeSearch(ctx context.Context, folders []string, out string) error {
	if err := checkFolders(out, folders); err != nil {
		return err
	}
	var parts []explore.Results
	var names []string
	var problems []error
	for _, dir := range folders {
		if !hasSearch(dir) && len(p.ended([]string{dir})) == 0 {
			continue
		}
		part, err := explore.Read(dir)
		problems = append(problems, err)
		parts, names = append(parts, part), append(names, dir)
	}
	if err := errors.Join(problems...); err != nil {
		return usage("%w", err)
	}
	whole, err := explore.Merge(parts, names)
	if err != nil {
		return usage("%w", err)
	}
	folder, err := p.folder(out)
	if err != nil {
		return err
	}
	defer folder.Close()
	x := &exploreOptions{search: explore.Search{Question: whole.Question}, out: out}
	ctx, stop := p.interruptible(ctx)
	defer stop()
	return p.concludeSearch(ctx, x, whole, x.run())
}
