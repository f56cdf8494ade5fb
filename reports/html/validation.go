//go:build !js

package html

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"lockproof/reports"
	"lockproof/validate"
)

// validationView is what the page of a validation shows.
type validationView struct {
	*reports.Validation
	Style  template.CSS
	Script template.JS
	Policy string
	Good   bool
	Lines  []settingLine
	Open   []string // what could not be judged
	Known  []string
	Maps   []heatMap
	Points []comparison
	Bars   []rateBar
	// Notes and Apply are of each advice.
	Notes [][]string
	Apply []string
}

type settingLine struct{ Line, Place string }

// heatMap is a panel of the frontier, in pixels that the page scales.
type heatMap struct {
	Title, Summary       string
	Width, Height, Right float64
	Cells                []heatCell
	Rows                 []heatRow
	Ticks                []tick
	Predicted            float64 // the boundary's place, 0 if there is none
	Bottom               float64
	Here                 []hereMark
}

// hereMark is where the operator's own settings are on a panel, or at its edge, where they
// are beyond it.
type hereMark struct {
	X, Y   float64
	Beyond bool
	Text   string
}

type heatCell struct {
	X, Y, W, H float64
	Share      float64 // of violations: how dark it is
	Kind, Text string  // Kind: held, violated, unknown
}

type heatRow struct {
	TTL      string
	Y, H     float64
	Measured float64 // the boundary's place, 0 if there is none
	Text     string
}

// comparison is a point that was run in virtual time and on real Redis.
type comparison struct {
	Persistence, Crash, Delay, Share, Virtual, Real string
	Agrees                                          bool
}

// rateBar is one setting's throughput.
type rateBar struct {
	Name, One, Many, OneShare, ManyShare string
	OneWidth, ManyWidth                  float64
}

// validationTemplate is the template "validation", with the parts that it shares with a
// report's page.
var validationTemplate = template.Must(Parts().Funcs(template.FuncMap{
	"span": reports.Span, "rate": reports.GivenAway, "lines": diffLines,
	"sign": func(v validate.Verdict) string { return validationSigns[v] },
}).ParseFS(files, "validation.gohtml"))

// diffLine is a line of a diff, and whether it comes ("added") or goes ("removed").
type diffLine struct{ Kind, Text string }

func diffLines(text string) (lines []diffLine) {
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		kind := ""
		switch {
		case strings.HasPrefix(line, "+"):
			kind = "added"
		case strings.HasPrefix(line, "-"):
			kind = "removed"
		}
		lines = append(lines, diffLine{kind, line})
	}
	return lines
}

// validationSigns go with each verdict, as those of a report do.
var validationSigns = map[validate.Verdict]string{validate.Safe: "✓", validate.Unsafe: "✗", validate.Inconclusive: "?"}

// WriteValidation writes the page of a validation: one file that needs neither a
// network nor JavaScript.
func WriteValidation(w io.Writer, v *reports.Validation) error {
	digest := sha256.Sum256(Script())
	view := &validationView{
		Validation: v, Style: template.CSS(string(Style()) + string(asset("validation.css"))), Script: template.JS(Script()),
		Policy: "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) +
			"'; base-uri 'none'; form-action 'none'",
		Good: v.Verdict == validate.Safe, Bars: rateBars(v.Throughput),
	}
	view.Open, view.Known = v.Doubts()
	for _, line := range v.Decisive {
		view.Lines = append(view.Lines, settingLine{line, v.WhereSet(line)})
	}
	for i := range v.Advice {
		view.Notes, view.Apply = append(view.Notes, v.AdviceNotes(i)), append(view.Apply, v.ApplyAdvice(i))
	}
	if f := v.Frontier; f != nil {
		for _, p := range f.Panels {
			view.Maps = append(view.Maps, heat(f, p))
		}
		for _, c := range f.Checks {
			view.Points = append(view.Points, comparison{string(c.Persistence), string(c.Crash), reports.Span(c.Delay),
				fmt.Sprintf("%.2f", float64(c.Delay)/float64(c.TTL)), given(c.Virtual), given(c.Real), c.Agrees()})
		}
	}
	return validationTemplate.ExecuteTemplate(w, "validation", view)
}

// given says what a point's trials gave.
func given(t validate.Tally) string {
	switch {
	case t.Violated > 0:
		return "given away"
	case t.Held > 0:
		return "held"
	}
	return "inconclusive: " + t.Why
}

// The measures of a heat map.
const (
	heatLeft   = 44.0
	heatTop    = 6.0
	heatCellW  = 17.0
	heatCellH  = 26.0
	heatBeyond = 9.0 // how far right of a panel a mark is that belongs beyond it
)

// heat draws a panel.
func heat(f *validate.Frontier, p validate.Panel) heatMap {
	m := heatMap{Title: fmt.Sprintf("%s, %s", p.Persistence, p.Crash), Right: heatLeft + heatCellW*float64(len(f.Shares)),
		Bottom: heatTop + heatCellH*float64(len(f.TTLs))}
	m.Width, m.Height = m.Right+18, m.Bottom+34
	step := f.Shares[1] - f.Shares[0]
	// A cell stands for the delays around its own.
	x := func(share float64) float64 { return round(heatLeft + (share/step+0.5)*heatCellW) }
	violated, decided := 0, 0
	for i, ttl := range f.TTLs {
		y := heatTop + heatCellH*float64(i)
		row := heatRow{TTL: reports.Span(ttl), Y: y, H: heatCellH}
		for j, c := range p.Cells[i] {
			m.Cells = append(m.Cells, cellOf(c, f.Delay(i, j), ttl, heatLeft+heatCellW*float64(j), y))
			violated, decided = violated+c.Violated, decided+c.Decided()
		}
		if e := p.Edges[i]; e.Shortest > 0 {
			m.Predicted = x(float64(e.Predicted) / float64(ttl))
			row.Measured = x(float64(e.Longest+e.Shortest) / 2 / float64(ttl))
			row.Text = fmt.Sprintf("TTL %s: %s was too short, %s was enough; predicted: %s", row.TTL, reports.Span(e.Longest),
				reports.Span(e.Shortest), reports.Span(e.Predicted))
		}
		m.Rows = append(m.Rows, row)
	}
	for _, own := range f.HereIn(p) {
		at := slices.Index(f.TTLs, own.TTL)
		mark := hereMark{X: x(float64(own.Delay) / float64(own.TTL)), Y: heatTop + heatCellH*(float64(at)+0.5)}
		if mark.X > m.Right {
			mark.X, mark.Beyond = m.Right+heatBeyond, true
		}
		back := "at once"
		if own.Delay > 0 {
			back = "after " + reports.Span(own.Delay)
		}
		mark.Text = fmt.Sprintf("you are here: back %s with a TTL of %s", back, reports.Span(own.TTL))
		m.Here = append(m.Here, mark)
	}
	for share := 0.0; share < 1.5; share += 0.25 {
		m.Ticks = append(m.Ticks, tick{X: x(share), Label: fmt.Sprintf("%g", share)})
	}
	m.Summary = fmt.Sprintf("given away in %d of %d trials", violated, decided)
	if violated == 0 && decided > 0 {
		m.Summary = fmt.Sprintf("held in all %d trials: nothing is forgotten", decided)
	}
	return m
}

func cellOf(t validate.Tally, delay, ttl time.Duration, x, y float64) heatCell {
	share, _, high := t.Rate()
	c := heatCell{X: x, Y: y, W: heatCellW, H: heatCellH, Share: round(share*100) / 100, Kind: "held"}
	c.Text = fmt.Sprintf("back after %s with a TTL of %s: given away in %d of %d, at most %.0f %% at 95 %%",
		reports.Span(delay), reports.Span(ttl), t.Violated, t.Decided(), high*100)
	switch {
	case t.Decided() == 0:
		c.Kind, c.Text = "unknown", "no trial decided"
	case t.Violated > 0:
		c.Kind, c.Share = "violated", 0.25+0.75*share
	}
	return c
}

// barWidth is the width of the fastest setting's bar.
const barWidth = 300.0

func rateBars(t *validate.Throughput) []rateBar {
	if t == nil || len(t.Rates) == 0 {
		return nil
	}
	fastest := 1.0
	for _, r := range t.Rates {
		fastest = max(fastest, r.One, r.Many)
	}
	none := t.Rates[0]
	var bars []rateBar
	for _, r := range t.Rates {
		bars = append(bars, rateBar{
			Name: string(r.Persistence), One: fmt.Sprintf("%.0f", r.One), Many: fmt.Sprintf("%.0f", r.Many),
			OneShare: fmt.Sprintf("%.2f", r.One/none.One), ManyShare: fmt.Sprintf("%.2f", r.Many/none.Many),
			OneWidth: round(r.One / fastest * barWidth), ManyWidth: round(r.Many / fastest * barWidth),
		})
	}
	return bars
}
