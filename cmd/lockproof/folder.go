package main

import (
	"errors"

	"example.org/lockproof/explore"
	"example.org/lockproof/reports"
)

// folder takes an output folder and removes an earlier run's or search's results from it.
func (p *program) folder(out string) (*reports.Folder, error) {
	return p.takeFolder(out, explore.ResultsFile)
}

// takeFolder takes an output folder and removes an earlier run's results from it, and
// the files that are named.
func (p *program) takeFolder(out string, also ...string) (*reports.Folder, error) {
	folder, err := reports.OpenFolder(out)
	switch {
	case errors.Is(err, reports.ErrBusy):
		return nil, usage("--out %w: give this run another", err)
	case errors.Is(err, reports.ErrForeign):
		return nil, usage("--out %w", err)
	case err != nil:
		return nil, failed(err)
	}
	if err := folder.Clear(also...); err != nil {
		return nil, failed(errors.Join(err, folder.Close()))
	}
	return folder, nil
}
