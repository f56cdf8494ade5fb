package figures

import (
	"cmp"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// Unit is what a figure counts, and decides how it is written.
type Unit string

// The units.
const (
	Count     Unit = ""
	Ratio     Unit = "x"  // to another row of the same section
	PerSecond Unit = "/s" // how often a second
	Seconds   Unit = "s"
	Bytes     Unit = "B"
)

// Figure is one measured quantity: the median of its rounds and their
// quartiles, between which half of them lie.
type Figure struct {
	Name   string    `json:"name"` // the column: pairs, p99
	Unit   Unit      `json:"unit"`
	Median float64   `json:"median"`
	Low    float64   `json:"low"`    // the lower quartile
	High   float64   `json:"high"`   // the upper one
	Rounds []float64 `json:"rounds"` // in the order in which they were measured; none where they are too many
	// Interval is where the median of ever more rounds would lie, nil unless asked for.
	Interval *Interval `json:"interval,omitempty"`
}

// Interval is a confidence interval, with both ends.
type Interval struct {
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"` // 0.95 or a little more
}

// Of makes a figure of its rounds, of which there must be one or more.
func Of(name string, unit Unit, rounds ...float64) Figure {
	sorted := slices.Sorted(slices.Values(rounds))
	n := len(sorted)
	return Figure{
		Name: name, Unit: unit, Rounds: rounds,
		Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Low: sorted[(n-1)/4], High: sorted[n-1-(n-1)/4],
	}
}

// Ratios divides rounds that were measured side by side, one by one.
func Ratios(name string, of, to Figure) Figure {
	rounds := make([]float64, len(of.Rounds))
	for i := range rounds {
		rounds[i] = of.Rounds[i] / to.Rounds[i]
	}
	return Of(name, Ratio, rounds...)
}

// WithInterval is the figure with the interval in which its median lies with 95 %
// confidence. Its ends are two of the rounds, by their rank, so that nothing is assumed of
// how rounds are distributed but that they do not depend on each other; of fewer than
// six, no interval of theirs is so sure, and the figure stays as it is.
func (f Figure) WithInterval() Figure {
	ranks := stats.QuantileCI(len(f.Rounds), 0.5, 0.95)
	if ranks.LoOrder >= 1 && ranks.HiOrder <= len(f.Rounds) {
		_, low, high := ranks.SampleCI(stats.Sample{Xs: f.Rounds})
		f.Interval = &Interval{Low: low, High: high, Confidence: ranks.Confidence}
	}
	return f
}

// Row is what was measured of one thing.
type Row struct {
	Name    string   `json:"name"`
	Figures []Figure `json:"figures"`
}

// Figure finds a row's figure by name. It panics if there is none: names are
// the benchmark's own.
func (r Row) Figure(name string) Figure {
	i := slices.IndexFunc(r.Figures, func(f Figure) bool { return f.Name == name })
	if i < 0 {
		panic("figures: row " + r.Name + " has no figure " + name)
	}
	return r.Figures[i]
}

// Target is a bound that a figure is held against.
type Target struct {
	What    string  `json:"what"` // pairs at 1 caller, of the raw fan-out
	Bound   string  `json:"bound"`
	Want    float64 `json:"want"`
	Got     float64 `json:"got"`
	Unit    Unit    `json:"unit"`
	Reached bool    `json:"reached"`
	// Interval is that of the figure, where the whole of it has to be within the bound.
	Interval *Interval `json:"interval,omitempty"`
}

// AtLeast wants a figure's median to be the bound or more.
func AtLeast(what string, f Figure, bound float64) Target {
	return target(what, "at least", f, bound, cmp.Compare(f.Median, bound) >= 0)
}

// AtMost wants a figure's median to be the bound or less.
func AtMost(what string, f Figure, bound float64) Target {
	return target(what, "at most", f, bound, cmp.Compare(f.Median, bound) <= 0)
}

// SurelyAtLeast wants the whole of a figure's interval to be the bound or more.
func SurelyAtLeast(what string, f Figure, bound float64) Target {
	t := AtLeast(what, f, bound)
	t.Interval, t.Reached = f.Interval, f.Interval != nil && f.Interval.Low >= bound
	return t
}

// SurelyAtMost wants the whole of a figure's interval to be the bound or less.
func SurelyAtMost(what string, f Figure, bound float64) Target {
	t := AtMost(what, f, bound)
	t.Interval, t.Reached = f.Interval, f.Interval != nil && f.Interval.High <= bound
	return t
}

func target(what, bound string, f Figure, want float64, reached bool) Target {
	return Target{What: what, Bound: bound, Want: want, Got: f.Median, Unit: f.Unit, Reached: reached}
}

// Section is rows that were measured under one condition, and their targets.
type Section struct {
	Name    string   `json:"name"`  // for programs: lock-1-caller
	Title   string   `json:"title"` // for readers
	Notes   []string `json:"notes,omitempty"`
	Rows    []Row    `json:"rows"`
	Targets []Target `json:"targets,omitempty"`
}

// Report is all that one run of the benchmarks measured, and where.
type Report struct {
	Machine  Machine   `json:"machine"`
	Sections []Section `json:"sections"`
}
