package main

import (
	"errors"

	"example.org/lockproof/explore"
	"example.org/lockproof/reports"
)

// openOutFolder opens an output folder and removes an earlier run's results from it, and a search's unless it resumes.
func openOutFolder(out string, resumes bool) (*reports.Folder, error) {
	folder, err := reports.OpenFolder(out)
	if errors.Is(err, reports.ErrBusy) {
		return nil, usage("--out %w: give this run another", err)
	}
	if err != nil { // the user can name another folder
		return nil, usage("--out %w", err)
	}
	if resumes {
		err = folder.Clear()
	} else {
		err = folder.Clear(explore.ResultsFile)
	}
	if err != nil {
		return nil, failed(errors.Join(err, folder.Close()))
	}
	return folder, nil
}
