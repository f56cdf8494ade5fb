package traffic

import (
	"math"

	"example.org/lockproof/harness/history"
)

const never = math.MaxInt64

// clock is a node's clock as recorded so far: its settings in time order.
type clock []setting

type setting struct {
	from, reading int64
	rate          float64
}

func (s setting) at(t int64) int64 {
	return s.reading + int64(math.Round(float64(t-s.from)*s.rate))
}

func (c *clock) set(e *history.Event) {
	*c = append(*c, setting{e.Time, e.Clock.Reading, e.Clock.Rate})
}

// readings returns the least and the greatest reading within [from, until] of the true clock. At the instant of a
// setting the clock shows its old reading, and then the new one.
func (c clock) readings(from, until int64) (least, most int64) {
	least, most = never, math.MinInt64
	current := setting{rate: 1}
	show := func(start, end int64) {
		start, end = max(start, from), min(end, until)
		if start <= end {
			least, most = min(least, current.at(start)), max(most, current.at(end))
		}
	}
	start := int64(0)
	for _, next := range c {
		show(start, next.from)
		current, start = next, next.from
	}
	show(start, until)
	return least, most
}
