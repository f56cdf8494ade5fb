package main

import (
	"errors"

	"example.org/lockproof/explore"
	"example.org/lockproof/reports"
)

// takeFolder takes an output folder and removes an earlier run's results from it, and a search's unless it goes on.
func takeFolder(out string, goesOn bool) (*reports.Folder, error) {
	folder, err := reports.OpenFolder(out)
	if err != nil { // whoever named it can name another
		return nil, usage("--out %w", err)
	}
	if goesOn {
		err = folder.Clear()
	} else {
		err = folder.Clear(explore.ResultsFile)
	}
	if err != nil {
		return nil, failed(errors.Join(err, folder.Close()))
	}
	return folder, nil
}
