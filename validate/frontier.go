package validate

import (
	"context"
	"slices"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/suite"
	"lockproof/validate/settings"
)

// Frontier is where safe settings end: how often a lock was given away, over
// the restart delay, the TTL, what is kept, and how the node goes down.
type Frontier struct {
	TTLs   []time.Duration `json:"ttls"`   // nanoseconds
	Shares []float64       `json:"shares"` // the delays, in TTLs
	Panels []Panel         `json:"panels"`
	Trials int             `json:"trials"`
	// Unsafe and Inconclusive count the trials that were, and SafeSide the
	// violations at delays from the predicted boundary on: there should be none.
	Unsafe       int           `json:"violated"`
	Inconclusive int           `json:"inconclusive"`
	SafeSide     int           `json:"violated_on_the_safe_side"`
	Elapsed      time.Duration `json:"elapsed"` // nanoseconds
	// Here is where the question's own settings are; none where their file was not read.
	Here   []Point `json:"here,omitempty"`
	Checks []Check `json:"checks,omitempty"`
}

// Panel is one heat map: a row for each TTL, a column for each delay.
type Panel struct {
	Persistence cluster.Persistence `json:"persistence"`
	Crash       settings.Crash      `json:"crash"`
	Cells       [][]Tally           `json:"cells"`
	Edges       []Edge              `json:"edges"` // one for each TTL
}

// Edge is the boundary of one TTL: predicted, and measured between two delays.
type Edge struct {
	TTL time.Duration `json:"ttl"`
	// Predicted is 0 where nothing is forgotten: every delay is safe.
	Predicted time.Duration `json:"predicted"`
	// Longest is the longest delay that showed a violation, Shortest the
	// shortest beyond it that did not; both 0 where there was no violation, and
	// where the search did not come to its end.
	Longest  time.Duration `json:"longest_violated"`
	Shortest time.Duration `json:"shortest_held"`
}

// Off is how far the measured boundary is from the predicted one, in TTLs.
func (e Edge) Off() float64 {
	return float64(((e.Longest+e.Shortest)/2 - e.Predicted).Abs()) / float64(e.TTL)
}

const (
	columns   = 20
	lastShare = 1.5
	// fewest is how many trials a frontier has at the least.
	fewest = 10_000
	// exactly is how narrow the boundary is enclosed, in TTLs.
	exactly = 0.002
)

// FrontierTTLs are those that are drawn beside the question's own.
var FrontierTTLs = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}

// Measure draws the frontier in virtual time, with at least so many trials in
// its cells (0: ten thousand). When ctx ends it holds what was run until then.
func (a *Asker) Measure(ctx context.Context, least int) (*Frontier, error) {
	began := time.Now()
	f := a.grid()
	cells := len(f.Panels) * len(f.TTLs) * len(f.Shares)
	if least <= 0 {
		least = fewest
	}
	rounds := (least + cells - 1) / cells
	a.stage("the safety frontier: %d trials in virtual time", rounds*cells)
	for n := range rounds {
		tallies, err := a.tally(ctx, f.points(), n, n+1, suite.Virtual, false)
		if err != nil {
			return nil, err
		}
		f.add(tallies)
	}
	if err := a.enclose(ctx, f); err != nil {
		return nil, err
	}
	f.count()
	f.Elapsed = time.Since(began)
	return f, nil
}

// grid is a frontier without trials.
func (a *Asker) grid() *Frontier {
	f := &Frontier{TTLs: slices.Compact(slices.Sorted(slices.Values(slices.Concat(FrontierTTLs, a.TTLs))))}
	for i := range columns {
		f.Shares = append(f.Shares, lastShare*float64(i)/columns)
	}
	for _, p := range Persistences {
		for _, crash := range settings.Crashes {
			panel := Panel{Persistence: p, Crash: crash}
			for _, ttl := range f.TTLs {
				panel.Cells = append(panel.Cells, make([]Tally, len(f.Shares)))
				edge := Edge{TTL: ttl}
				if Forgets(p, crash) {
					edge.Predicted = Boundary(ttl, a.Drift)
				}
				panel.Edges = append(panel.Edges, edge)
			}
			f.Panels = append(f.Panels, panel)
		}
	}
	if a.Redis.Unread == "" {
		f.Here = a.points()
	}
	return f
}

// Delay is the delay of a cell.
func (f *Frontier) Delay(ttl, share int) time.Duration {
	return time.Duration(f.Shares[share] * float64(f.TTLs[ttl])).Round(time.Millisecond)
}

// HereIn are those of the question's own settings that are in a panel.
func (f *Frontier) HereIn(panel Panel) (here []Point) {
	for _, p := range f.Here {
		if p.Persistence == panel.Persistence && p.Crash == panel.Crash {
			here = append(here, p)
		}
	}
	return here
}

func (f *Frontier) points() []Point {
	var points []Point
	for _, p := range f.Panels {
		for i, ttl := range f.TTLs {
			for j := range f.Shares {
				points = append(points, Point{Persistence: p.Persistence, Crash: p.Crash, TTL: ttl, Delay: f.Delay(i, j)})
			}
		}
	}
	return points
}

// add adds a round of trials, in the order of points.
func (f *Frontier) add(tallies []Tally) {
	for n, t := range tallies {
		cell := n % (len(f.TTLs) * len(f.Shares))
		c := &f.Panels[n/(len(f.TTLs)*len(f.Shares))].Cells[cell/len(f.Shares)][cell%len(f.Shares)]
		c.Held += t.Held
		c.Violated += t.Violated
		c.Inconclusive += t.Inconclusive
		c.Failed += t.Failed
		if c.Why == "" {
			c.Why = t.Why
		}
	}
}

// count sums up the cells.
func (f *Frontier) count() {
	f.Unsafe, f.Inconclusive, f.SafeSide = 0, 0, 0
	for _, p := range f.Panels {
		for i, cells := range p.Cells {
			for j, c := range cells {
				f.Trials += c.Decided() + c.Inconclusive + c.Failed
				f.Unsafe += c.Violated
				f.Inconclusive += c.Inconclusive + c.Failed
				if f.Delay(i, j) >= p.Edges[i].Predicted {
					f.SafeSide += c.Violated
				}
			}
		}
	}
}

// enclose narrows down the boundary of every panel and TTL, all side by side,
// by halving, with crashes at the worst moment.
func (a *Asker) enclose(ctx context.Context, f *Frontier) error {
	a.stage("the boundary, by halving")
	type search struct {
		edge *Edge
		p    Point
		low  time.Duration // a delay that is violated
		high time.Duration // a delay that holds
	}
	var open []*search
	for i := range f.Panels {
		panel := &f.Panels[i]
		for t := range panel.Edges {
			edge := &panel.Edges[t]
			if panel.Cells[t][0].Violated > 0 {
				open = append(open, &search{edge, Point{Persistence: panel.Persistence, Crash: panel.Crash, TTL: edge.TTL}, 0,
					time.Duration(lastShare * float64(edge.TTL))})
			}
		}
	}
	for len(open) > 0 && ctx.Err() == nil {
		points := make([]Point, len(open))
		for i, s := range open {
			points[i] = s.p
			points[i].Delay = ((s.low + s.high) / 2).Round(100 * time.Microsecond)
		}
		tallies, err := a.tally(ctx, points, 0, 1, suite.Virtual, false)
		if err != nil {
			return err
		}
		var next []*search
		for i, s := range open {
			f.Trials += tallies[i].Decided() + tallies[i].Inconclusive + tallies[i].Failed
			switch {
			case tallies[i].Violated > 0:
				s.low = points[i].Delay
			case tallies[i].Held > 0:
				s.high = points[i].Delay
			default:
				continue // it decided nothing, and so would the next
			}
			if float64(s.high-s.low) > exactly*float64(s.p.TTL) {
				next = append(next, s)
			} else {
				s.edge.Longest, s.edge.Shortest = s.low, s.high
			}
		}
		open = next
	}
	return nil
}
