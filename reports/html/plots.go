package html

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockproof/checker"
	"lockproof/harness/history"
	"lockproof/harness/suite"
	"lockproof/reports"
)

// The size of a plot, in pixels; the page scales it.
const (
	chartWidth  = 640.0
	chartHeight = 120.0
	buckets     = 64
)

// plots show a workload over time: small multiples on one axis.
type plots struct {
	ID         string
	Latency    string // a path of dots
	Failed     string // likewise, of acquires that were refused
	LatencyMax string
	Grants     []column
	GrantsMax  int
	Bucket     string
	Faults     []bar
	Gap        *bar
	GapText    string
	Ticks      []tick
	Figures    []figure
	Width      float64
	Height     float64
}

type column struct{ X, W, Y, H float64 }

type figure struct{ Name, Value string }

// attempt is one acquire with its outcome.
type attempt struct {
	asked, done int64
	granted     bool
}

func plotsOf(id string, h *reports.History, trial suite.Result) *plots {
	events := h.Events
	attempts := attemptsOf(events)
	end := events[len(events)-1].Time
	if len(attempts) == 0 || end <= 0 {
		return nil
	}
	p := &plots{ID: id, Width: chartWidth, Height: chartHeight}
	x := func(t int64) float64 { return round(float64(t) / float64(end) * chartWidth) }
	p.latency(attempts, x)
	p.grants(attempts, end)
	for _, f := range h.Faults() {
		from, until := x(f.From), x(min(f.Until, end))
		p.Faults = append(p.Faults, bar{X: from, W: max(until-from, 1.5), Text: f.Text + fromTo(f.From, f.Until)})
	}
	p.gap(h, x)
	step := reports.RoundStep(float64(end) / 6)
	for t := int64(0); t <= end; t += step {
		if at := x(t); at < chartWidth-30 {
			p.Ticks = append(p.Ticks, tick{X: at, Label: reports.Duration(time.Duration(t))})
		}
	}
	p.figures(trial)
	return p
}

func attemptsOf(events []history.Event) []attempt {
	asked := map[string]int64{}
	var all []attempt
	for _, e := range events {
		if e.Op != history.OpAcquire {
			continue
		}
		id := fmt.Sprintf("%s %d", e.Process, e.ID)
		if e.Type == history.TypeInvoke {
			asked[id] = e.Time
		} else if from, ok := asked[id]; ok {
			all = append(all, attempt{from, e.Time, e.Type == history.TypeOK})
		}
	}
	return all
}

// latency draws a dot for each acquire, at the time of its outcome.
func (p *plots) latency(attempts []attempt, x func(int64) float64) {
	longest := int64(1)
	for _, a := range attempts {
		longest = max(longest, a.done-a.asked)
	}
	p.LatencyMax = reports.Duration(time.Duration(longest))
	var granted, refused strings.Builder
	for _, a := range attempts {
		path := &refused
		if a.granted {
			path = &granted
		}
		y := chartHeight - 4 - float64(a.done-a.asked)/float64(longest)*(chartHeight-8)
		fmt.Fprintf(path, "M%g %gh0", x(a.done), round(y))
	}
	p.Latency, p.Failed = granted.String(), refused.String()
}

// grants counts the grants in equal stretches of time.
func (p *plots) grants(attempts []attempt, end int64) {
	var counts [buckets]int
	for _, a := range attempts {
		if a.granted {
			counts[min(int(float64(a.done)/float64(end)*buckets), buckets-1)]++
		}
	}
	p.GrantsMax = max(1, slices.Max(counts[:]))
	p.Bucket = reports.Duration(time.Duration(end / buckets))
	for i, n := range counts {
		if n > 0 {
			h := round(float64(n) / float64(p.GrantsMax) * (chartHeight - 8))
			p.Grants = append(p.Grants, column{X: round(float64(i)*chartWidth/buckets) + 0.5,
				W: round(chartWidth/buckets - 1), Y: chartHeight - h, H: h})
		}
	}
}

// gap marks the longest stretch without a grant while somebody was waiting.
func (p *plots) gap(h *reports.History, x func(int64) float64) {
	from, until := h.LongestGap()
	if until > from {
		p.GapText = reports.Duration(time.Duration(until - from))
		p.Gap = &bar{X: x(from), W: max(x(until)-x(from), 1.5),
			Text: "the longest time without a grant: " + p.GapText + fromTo(from, until)}
	}
}

// figures are what the checker measured.
func (p *plots) figures(trial suite.Result) {
	for _, r := range trial.Results {
		property, _ := checker.Find(r.Property)
		for _, f := range property.Figures {
			n, measured := r.Measured[f.Key]
			switch {
			case measured && f.Lasting:
				p.Figures = append(p.Figures, figure{f.Name, reports.Duration(time.Duration(n))})
			case measured:
				p.Figures = append(p.Figures, figure{f.Name, fmt.Sprint(n)})
			}
		}
	}
}
