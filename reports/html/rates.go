package html

import (
	"lockproof/harness/history"
	"lockproof/reports"
)

// rates are how often each property was violated, with the bounds of the
// interval, where a run has several trials of each row.
type rates struct {
	Rows   []rateRow
	Height float64
}

type rateRow struct {
	Name, Property, Text string
	Y                    float64
	Low, High, Share     float64 // places
	Expected             bool    // a violation was
}

const rateHeight = 22

// rateWidth is the width of the whole share from 0 to 1.
const rateWidth = 300

func ratesOf(r *reports.Report) *rates {
	all := &rates{}
	for _, row := range r.Rows {
		if len(row.Trials) < 2 {
			continue
		}
		for _, p := range row.Shown() {
			rate := p.Rate()
			if rate.Trials == 0 {
				continue
			}
			all.Rows = append(all.Rows, rateRow{
				Name: row.Name(), Property: p.Name, Text: rate.String(), Y: float64(len(all.Rows))*rateHeight + rateHeight/2,
				Low: round(rate.Low * rateWidth), High: round(rate.High * rateWidth),
				Share:    round(float64(rate.Violated) / float64(rate.Trials) * rateWidth),
				Expected: p.Expected == history.Violated,
			})
		}
	}
	if len(all.Rows) == 0 {
		return nil
	}
	all.Height = float64(len(all.Rows)) * rateHeight
	return all
}
