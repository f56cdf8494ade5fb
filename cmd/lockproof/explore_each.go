package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"example.org/lockproof/checker"
	"example.org/lockproof/explore"
	"example.org/lockproof/reports"
)

// eachAssumption is what --break takes in the place of names: none is broken, and then each
// by itself.
const eachAssumption = "each"

// checkEach refuses what does not go with several searches, and lets each of them look for
// the first breach of safety, unless something else is asked for.
func (x *exploreOptions) checkEach(given func(string) bool) error {
	for _, flag := range []string{"exhaust", "slice"} {
		if given(flag) {
			return usage("--%s goes with one search, and --break %s is several: break one assumption, by its name", flag,
				eachAssumption)
		}
	}
	if !given("enough") {
		x.search.Enough = 1
	}
	if !given("property") {
		x.search.Space.Properties = []string{checker.MutualExclusion, checker.ProtectedData}
	}
	return nil
}

// exploreEach answers which assumptions a lock rests on: it searches with none broken, and
// then with each by itself, in a folder each. What a lock takes on trust is no fault of its:
// only what is found with none broken makes the exit code 1.
func (p *program) exploreEach(ctx context.Context, x *exploreOptions) error {
	var rows []reports.Assumption
	var code error
	worst := func(err error) {
		if code == nil {
			code = err
		}
	}
	for _, a := range slices.Concat([]explore.AssumptionInfo{{Broken: "what every lock has to survive"}},
		explore.Assumptions()) {
		one, name := x.breaking(a.Assumption), string(a.Assumption)
		if name == "" {
			name = "none"
		}
		err := p.searchIn(ctx, one, func(ctx context.Context, r explore.Results, _ reports.Run) error {
			row, err := one.row(r)
			row.Name, row.Broken = name, a.Broken
			rows = append(rows, row)
			switch {
			case err != nil:
				return err
			case ctx.Err() != nil:
				return &exit{code: reports.ExitInconclusive}
			case len(r.Tally.Failed) > 0:
				worst(failed(fmt.Errorf("%s: %w", name, r.Tally.Failure())))
			case row.Violated != "" && a.Assumption == "":
				worst(&exit{code: reports.ExitDiffers})
			case row.Judged == 0 && a.Assumption == "":
				worst(&exit{code: reports.ExitInconclusive})
			}
			return nil
		})
		if err != nil { // interrupted, or it cannot go on
			worst(err)
			break
		}
	}
	p.tell(reports.AssumptionsText(x.search.Space.Lock, rows, p.screen))
	return code
}

// breaking is the search with one assumption broken, or none (""), in a folder of its own.
func (x *exploreOptions) breaking(a explore.Assumption) *exploreOptions {
	one, folder := *x, "none"
	if a != "" {
		one.search.Space.Break, folder = []explore.Assumption{a}, string(a)
	}
	one.out = filepath.Join(x.out, folder)
	return &one
}

// row keeps what a search has come to, and says it.
func (x *exploreOptions) row(r explore.Results) (reports.Assumption, error) {
	row := reports.Assumption{Schedules: r.Tally.Schedules}
	for _, property := range x.search.Space.Properties {
		row.Judged = max(row.Judged, r.Tally.Judged(property))
	}
	if err := x.keep(r); err != nil {
		return row, failed(err)
	}
	for i, f := range r.Tally.Finds {
		path, _, err := x.search.Write(f, x.found())
		if err != nil {
			return row, failed(err)
		}
		if i == 0 {
			row.Violated, row.After, row.Steps, row.Repeat = f.FindID.String(), f.Number+1, len(f.Shrunk.Steps),
				x.search.Repeat(f, path)
		}
	}
	return row, nil
}
