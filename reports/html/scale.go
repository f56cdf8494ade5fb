package html

import (
	"cmp"
	"math"
	"slices"
)

// plotWidth is the width of a timeline in pixels without JavaScript, which fits it to the screen.
const plotWidth = 960.0

// margin keeps both ends free for marks.
const margin = 14.0

// knot is a time, in nanoseconds since the timeline's beginning, with its pixel.
type knot struct {
	T int64   `json:"t"`
	X float64 `json:"x"`
}

// scale maps times to pixels. A race takes microseconds and the lease that it breaks takes seconds. If turns of a story
// would overlap, the scale shortens quiet stretches: time is linear between two knots but not across them.
type scale struct {
	from  int64 // time of the history at pixel 0
	knots []knot
	even  bool // true to scale from end to end
}

// powers are tried in order: the width of a stretch is its length to this power. With 1 the axis is true to scale.
var powers = []float64{1, 0.7, 0.5, 0.35, 0.25, 0.18}

// roomy is the wanted distance of turns, in pixels.
const roomy = 22

// newScale maps from..until. Edges are the begins and ends of everything drawn; turns must be distinct.
func newScale(from, until int64, edges, turns []int64) scale {
	times := []int64{from, until}
	for _, t := range slices.Concat(edges, turns) {
		if t > from && t < until {
			times = append(times, t)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	var s scale
	for _, power := range powers {
		s = spread(from, times, power)
		if s.separates(turns) {
			break
		}
	}
	return s
}

// spread divides the width among the stretches between times.
func spread(from int64, times []int64, power float64) scale {
	s := scale{from: from, even: power == 1}
	shares := make([]float64, len(times))
	sum := 0.0
	for i := 1; i < len(times); i++ {
		shares[i] = math.Pow(float64(times[i]-times[i-1]), power)
		sum += shares[i]
	}
	x := margin
	for i, t := range times {
		if sum > 0 {
			x += shares[i] / sum * (plotWidth - 2*margin)
		}
		s.knots = append(s.knots, knot{t - from, round(x)})
	}
	if s.even {
		s.knots = []knot{s.knots[0], s.knots[len(s.knots)-1]}
	}
	return s
}

// separates reports whether turns at different times are far enough apart.
func (s scale) separates(turns []int64) bool {
	sorted := slices.Compact(slices.Sorted(slices.Values(turns)))
	for i := 1; i < len(sorted); i++ {
		if s.x(sorted[i])-s.x(sorted[i-1]) < roomy {
			return false
		}
	}
	return true
}

// x maps a time of the history to a pixel; times outside map to the ends.
func (s scale) x(t int64) float64 {
	t -= s.from
	i, found := slices.BinarySearchFunc(s.knots, t, func(k knot, t int64) int { return cmp.Compare(k.T, t) })
	switch {
	case found:
		return s.knots[i].X
	case i == 0:
		return s.knots[0].X
	case i == len(s.knots):
		return s.knots[i-1].X
	}
	a, b := s.knots[i-1], s.knots[i]
	return round(a.X + (b.X-a.X)*float64(t-a.T)/float64(b.T-a.T))
}

func round(x float64) float64 { return math.Round(x*10) / 10 } // to a tenth of a pixel
