package checker

import (
	"math"
	"slices"
	"sort"

	"example.org/lockproof/harness/history"
)

// clock is a process's clock as a piecewise linear function of the true one: its settings in time order. Before the
// first setting it is right.
type clock []setting

// setting is a clock's reading at a true time and its rate from then on, in its nanoseconds per true nanosecond.
type setting struct {
	from    int64
	reading int64
	rate    float64
	event   int // the event that set it; -1 for the initial, right clock
}

// read returns the clock's reading at a true time within this setting.
func (s setting) read(t int64) int64 {
	if s.rate == 1 {
		return s.reading + (t - s.from)
	}
	return s.reading + int64(math.Round(float64(t-s.from)*s.rate))
}

// reaches returns the first true time at which this setting reads target or more, as if it were always in force.
func (s setting) reaches(target int64) int64 {
	if s.rate == 1 {
		return s.from + (target - s.reading)
	}
	t := float64(s.from) + math.Ceil(float64(target-s.reading)/s.rate)
	return int64(min(t, never))
}

// indexAt returns the index of the setting in force at a true time, -1 before the first.
func (c clock) indexAt(t int64) int {
	return sort.Search(len(c), func(i int) bool { return c[i].from > t }) - 1
}

func (c clock) setting(i int) setting {
	if i < 0 {
		return setting{rate: 1, event: -1}
	}
	return c[i]
}

// at returns the clock's reading at a true time.
func (c clock) at(t int64) int64 { return c.setting(c.indexAt(t)).read(t) }

// timeAfter returns the first true time, not before `from`, at which d nanoseconds have passed on the clock since an
// event at `from`. A forward jump brings it nearer, a step back delays it. A setting at the same time but by a later
// event is after the event.
func (c clock) timeAfter(d, from int64, event int) int64 {
	if d >= never {
		return never
	}
	i := c.indexAt(from)
	for i >= 0 && c[i].from == from && c[i].event > event {
		i--
	}
	for target := c.setting(i).read(from) + d; ; i++ {
		start := max(from, c.setting(i).from)
		t := max(start, c.setting(i).reaches(target))
		if i+1 >= len(c) || t < c[i+1].from {
			return t
		}
	}
}

// withoutJumps returns a clock with the same rates and no jumps.
func (c clock) withoutJumps() clock {
	steady := slices.Clone(c)
	for i := range steady {
		steady[i].reading = steady.setting(i - 1).read(steady[i].from)
	}
	return steady
}

// clocks holds the clocks of all processes. A process without an entry has right clocks.
type clocks struct {
	monotonic map[string]clock
	wall      map[string]clock // a node has only this one
}

func newClocks() clocks { return clocks{monotonic: map[string]clock{}, wall: map[string]clock{}} }

// read adds a clock event of a process.
func (c clocks) read(h history.Header, process string, i int, e *history.Event) error {
	if e.Clock == nil || !(e.Clock.Rate > 0) || math.IsInf(e.Clock.Rate, 0) {
		return eventError(i, "%s's clock event needs a clock with a rate above 0", e.Process)
	}
	kind := c.monotonic
	if e.Clock.Wall || slices.Contains(h.Nodes, e.Process) {
		kind = c.wall
	}
	kind[process] = append(kind[process],
		setting{from: e.Time, reading: e.Clock.Reading, rate: e.Clock.Rate, event: i})
	return nil
}

func (c clocks) clockOf(process string, wall bool) clock {
	if wall {
		return c.wall[process]
	}
	return c.monotonic[process]
}

// timerFactor returns how many times longer than by right clocks a client's work may take during an interval: its
// timeouts and retries go by its clocks. A fast clock ends attempts too early, and they are repeated as often.
func (c clocks) timerFactor(client string, during span) float64 {
	factor := 1.0
	for _, set := range []clock{c.monotonic[client], c.wall[client]} {
		for i := max(0, set.indexAt(during.from)); i < len(set) && set[i].from < during.until; i++ {
			if rate := set[i].rate; rate > 0 {
				factor = max(factor, rate, 1/rate)
			}
		}
	}
	return factor
}

// scaledBound scales a bound by a client's clocks if these run at a wrong rate.
func (r *record) scaledBound(bound int64, client string, during span) int64 {
	return int64(float64(bound) * r.clocks.timerFactor(client, during))
}
