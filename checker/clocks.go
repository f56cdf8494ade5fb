package checker

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"example.org/lockproof/harness/history"
)

// clock is a process's clock as a piecewise linear function of the true one:
// its settings in the order of time. Before the first it is right.
type clock []setting

// setting is how a clock runs from a true time on: what it reads then and how
// many of its nanoseconds pass in a true one.
type setting struct {
	from    int64
	reading int64
	rate    float64
	event   int // that set it; -1 for the right clock of the beginning
}

// read gives the clock's reading at a true time within this setting.
func (s setting) read(t int64) int64 {
	if s.rate == 1 {
		return s.reading + (t - s.from)
	}
	return s.reading + int64(math.Round(float64(t-s.from)*s.rate))
}

// reaches gives the first true time at which this setting reads target or
// more, had it always been in force and were to stay so.
func (s setting) reaches(target int64) int64 {
	if s.rate == 1 {
		return s.from + (target - s.reading)
	}
	t := float64(s.from) + math.Ceil(float64(target-s.reading)/s.rate)
	return int64(min(t, never))
}

// during gives the index of the setting in force at a true time, -1 for the
// right clock of the beginning.
func (c clock) during(t int64) int {
	return sort.Search(len(c), func(i int) bool { return c[i].from > t }) - 1
}

func (c clock) setting(i int) setting {
	if i < 0 {
		return setting{rate: 1, event: -1}
	}
	return c[i]
}

// at gives the clock's reading at a true time.
func (c clock) at(t int64) int64 { return c.setting(c.during(t)).read(t) }

// when gives the first true time from `from` on at which d nanoseconds have
// passed on the clock since an event at that time: a forward jump brings it nearer,
// a step back puts it off. A clock that was set at the same time but by a later
// event was set afterwards.
func (c clock) when(d, from int64, event int) int64 {
	if d >= never {
		return never
	}
	i := c.during(from)
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

// withoutJumps is the clock that its rates alone make.
func (c clock) withoutJumps() clock {
	steady := slices.Clone(c)
	for i := range steady {
		steady[i].reading = steady.setting(i - 1).read(steady[i].from)
	}
	return steady
}

// clocks holds every process's clocks. A process that is not in it has right
// clocks.
type clocks struct {
	monotonic map[string]clock
	wall      map[string]clock // a node has only this one
}

func newClocks() clocks { return clocks{monotonic: map[string]clock{}, wall: map[string]clock{}} }

// read adds a clock event of a process.
func (c clocks) read(h history.Header, process string, i int, e *history.Event) error {
	if e.Clock == nil || !(e.Clock.Rate > 0) || math.IsInf(e.Clock.Rate, 0) {
		return fmt.Errorf("event %d: %s's clock event needs a clock with a rate above 0", i, e.Process)
	}
	kind := c.monotonic
	if e.Clock.Wall || slices.Contains(h.Nodes, e.Process) {
		kind = c.wall
	}
	kind[process] = append(kind[process],
		setting{from: e.Time, reading: e.Clock.Reading, rate: e.Clock.Rate, event: i})
	return nil
}

// of gives a process's clock of one kind.
func (c clocks) of(process string, wall bool) clock {
	if wall {
		return c.wall[process]
	}
	return c.monotonic[process]
}

// stretched gives how many times as long as by right clocks what a client times may take in a
// stretch: by its clocks it waits for nodes, asks again and gives up. What a clock that is too
// fast ends too early is tried again as often.
func (c clocks) stretched(client string, during span) float64 {
	factor := 1.0
	for _, set := range []clock{c.monotonic[client], c.wall[client]} {
		for i := max(0, set.during(during.from)); i < len(set) && set[i].from < during.until; i++ {
			if rate := set[i].rate; rate > 0 {
				factor = max(factor, rate, 1/rate)
			}
		}
	}
	return factor
}
