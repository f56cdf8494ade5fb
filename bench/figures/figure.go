package figures

import (
	"cmp"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// Unit is the unit of a figure, and decides its format.
type Unit string

// The units.
const (
	Count     Unit = ""
	Ratio     Unit = "x" // to another row of the same section
	PerSecond Unit = "/s"
	Seconds   Unit = "s"
	Bytes     Unit = "B"
)

// Figure is one measured quantity: the median of its rounds, and their quartiles.
type Figure struct {
	Name   string    `json:"name"` // the column: pairs, p99
	Unit   Unit      `json:"unit"`
	Median float64   `json:"median"`
	Low    float64   `json:"low"`    // the lower quartile
	High   float64   `json:"high"`   // the upper quartile
	Rounds []float64 `json:"rounds"` // in the order of measurement; none if they are too many
	// Interval is the confidence interval of the median, nil unless requested.
	Interval *Interval `json:"interval,omitempty"`
}

// Interval is a confidence interval, with both ends.
type Interval struct {
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"` // 0.95 or a little more
}

// Of makes a figure of one or more rounds.
func Of(name string, unit Unit, rounds ...float64) Figure {
	sorted := slices.Sorted(slices.Values(rounds))
	n := len(sorted)
	return Figure{
		Name: name, Unit: unit, Rounds: rounds,
		Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Low: sorted[(n-1)/4], High: sorted[n-1-(n-1)/4],
	}
}

// Ratios divides the rounds of two figures that were measured side by side.
func Ratios(name string, of, to Figure) Figure {
	rounds := make([]float64, len(of.Rounds))
	for i := range rounds {
		rounds[i] = of.Rounds[i] / to.Rounds[i]
	}
	return Of(name, Ratio, rounds...)
}

// WithInterval adds the interval of the median with 95 % confidence. Its ends are two of the rounds, by their rank:
// this assumes only that rounds are independent. Fewer than six rounds give no such interval, and the figure stays as
// it is.
func (f Figure) WithInterval() Figure {
	ranks := stats.QuantileCI(len(f.Rounds), 0.5, 0.95)
	if ranks.LoOrder >= 1 && ranks.HiOrder <= len(f.Rounds) {
		_, low, high := ranks.SampleCI(stats.Sample{Xs: f.Rounds})
		f.Interval = &Interval{Low: low, High: high, Confidence: ranks.Confidence}
	}
	return f
}

// Row has the figures of one measured thing.
type Row struct {
	Name    string   `json:"name"`
	Figures []Figure `json:"figures"`
}

// Figure finds a row's figure by name. It panics for an unknown name, which is a mistake of the benchmark.
func (r Row) Figure(name string) Figure {
	i := slices.IndexFunc(r.Figures, func(f Figure) bool { return f.Name == name })
	if i < 0 {
		panic("figures: row " + r.Name + " has no figure " + name)
	}
	return r.Figures[i]
}

// Target is a required bound of a figure.
type Target struct {
	What    string  `json:"what"` // pairs at 1 caller, of the raw fan-out
	Bound   string  `json:"bound"`
	Want    float64 `json:"want"`
	Got     float64 `json:"got"`
	Unit    Unit    `json:"unit"`
	Reached bool    `json:"reached"`
	// Interval is the figure's, if all of it must be within the bound.
	Interval *Interval `json:"interval,omitempty"`
}

// AtLeast requires a figure's median of at least the bound.
func AtLeast(what string, f Figure, bound float64) Target {
	return target(what, "at least", f, bound, cmp.Compare(f.Median, bound) >= 0)
}

// AtMost requires a figure's median of at most the bound.
func AtMost(what string, f Figure, bound float64) Target {
	return target(what, "at most", f, bound, cmp.Compare(f.Median, bound) <= 0)
}

// SurelyAtLeast requires the whole of a figure's interval to be at least the bound.
func SurelyAtLeast(what string, f Figure, bound float64) Target {
	t := AtLeast(what, f, bound)
	t.Interval, t.Reached = f.Interval, f.Interval != nil && f.Interval.Low >= bound
	return t
}

// SurelyAtMost requires the whole of a figure's interval to be at most the bound.
func SurelyAtMost(what string, f Figure, bound float64) Target {
	t := AtMost(what, f, bound)
	t.Interval, t.Reached = f.Interval, f.Interval != nil && f.Interval.High <= bound
	return t
}

func target(what, bound string, f Figure, want float64, reached bool) Target {
	return Target{What: what, Bound: bound, Want: want, Got: f.Median, Unit: f.Unit, Reached: reached}
}

// Section has rows measured under one condition, and their targets.
type Section struct {
	Name    string   `json:"name"`  // for programs: lock-1-caller
	Title   string   `json:"title"` // for readers
	Notes   []string `json:"notes,omitempty"`
	Rows    []Row    `json:"rows"`
	Targets []Target `json:"targets,omitempty"`
}

// Report has the results of one run of the benchmarks, and its machine.
type Report struct {
	Machine  Machine   `json:"machine"`
	Sections []Section `json:"sections"`
}
