package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
)

// lastFailed gives the rows that were not as expected in the run in o's output folder, and their scenarios; it says so
// where there are none.
func (p *program) lastFailed(cmd *cobra.Command, o *suite.Options) (rows, scenarios []string, err error) {
	if rows, scenarios, err = readLastRun(cmd, o); err == nil && len(rows) == 0 {
		p.tell(fmt.Sprintf("Nothing to run again: in %s all was as expected.\n", o.Out))
	}
	return rows, scenarios, err
}

// readLastRun sets o up as the run in its output folder was, but for the flags that are given
// now, and gives the names of the rows that were not as expected in it, and those of
// their scenarios.
func readLastRun(cmd *cobra.Command, o *suite.Options) (rows, scenarios []string, err error) {
	last, err := reports.Read(o.Out)
	if err != nil {
		return nil, nil, usage("--last-failed: %w", err)
	}
	was := last.Options
	for flag, take := range map[string]func(){
		"on": func() { o.Cluster = was.Cluster }, "server": func() { o.Server = was.Server },
		"image":  func() { o.Image = was.Image },
		"trials": func() { o.Trials = was.Trials }, "seed": func() { o.Seed = was.Seed }, "ttl": func() { o.TTL = was.TTL },
		"nodes":   func() { o.Nodes = was.Nodes },
		"without": func() { o.Without = was.Without }, "lock": func() { o.Lock = was.Lock },
	} {
		if !cmd.Flags().Changed(flag) && !(flag == "lock" && cmd.Flags().Changed("worker")) {
			take()
		}
	}
	for _, row := range last.BySeverity() {
		if row.Standing == suite.AsExpected {
			continue
		}
		rows = append(rows, row.Trials[0].Name())
		if !slices.Contains(scenarios, row.Scenario) {
			scenarios = append(scenarios, row.Scenario)
		}
	}
	return rows, scenarios, nil
}

// keepRows leaves of the jobs those of the rows that were not as expected. Scenarios in files of
// the user's own are known by what the arguments name; the results have names only.
func keepRows(jobs []suite.Job, err error, rows []string, out string) ([]suite.Job, error) {
	if err != nil {
		return nil, usage("--last-failed: %w; what is not built in has to be named again: a scenario's file, or --worker",
			err)
	}
	jobs = slices.DeleteFunc(jobs, func(j suite.Job) bool { return !slices.Contains(rows, j.Name()) })
	if len(jobs) == 0 {
		return nil, usage("--last-failed: in the run in %s, none of what is named was other than expected", out)
	}
	return jobs, nil
}
