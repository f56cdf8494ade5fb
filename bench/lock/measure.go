package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockproof/bench/figures"
)

// nodes is how many servers there are.
const nodes = 5

// Measure measures all peers on five real servers.
func Measure(ctx context.Context, say func(format string, args ...any)) (sections []figures.Section, err error) {
	s, err := StartServers(ctx, nodes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, callers := range []int{1, 32} {
		say("lock: pairs with %d callers", callers)
		section, err := throughput(ctx, s, callers)
		if err != nil {
			return sections, err
		}
		sections = append(sections, section)
	}
	return sections, nil
}

// throughput is pairs of acquire and release of keys that nobody else wants.
func throughput(ctx context.Context, s *Servers, callers int) (figures.Section, error) {
	t := trial{callers: callers, rounds: 15, length: 200 * time.Millisecond}
	results, err := t.run(ctx, s, s.Addrs, peers)
	if err != nil {
		return figures.Section{}, err
	}
	section := figures.Section{
		Name:  fmt.Sprintf("lock-pairs-%d", callers),
		Title: fmt.Sprintf("Acquire and release, keys of their own, callers at a time: %d", callers),
	}
	rates := make([]figures.Figure, len(peers))
	for i := range peers {
		rates[i] = figureOf("pairs", figures.PerSecond, results[i], rate)
	}
	for i, p := range peers {
		section.Rows = append(section.Rows, figures.Row{Name: p.name, Figures: []figures.Figure{
			rates[i],
			figures.Ratios("of redlock's", rates[i], rates[0]),
			figureOf("p50", figures.Seconds, results[i], quantile(pairs, 50)),
			figureOf("p99", figures.Seconds, results[i], quantile(pairs, 99)),
			figureOf("allocations", figures.Count, results[i], allocations),
			figureOf("commands", figures.Count, results[i], perGrant),
			figureOf("orphans", figures.Count, results[i], orphans),
		}})
	}
	against := func(name string) figures.Figure {
		return figures.Ratios(name, rates[0], rates[slices.IndexFunc(peers, func(p peer) bool { return p.name == name })])
	}
	if callers == 1 {
		section.Targets = []figures.Target{
			figures.AtLeast("redlock, of raw go-redis", against("raw go-redis"), 0.95),
			figures.AtLeast("redlock, of redsync", against("redsync"), 1.4),
		}
	} else {
		section.Targets = []figures.Target{
			figures.AtLeast("redlock, of redsync", against("redsync"), 2.2),
			figures.AtLeast("redlock, of rueidislock", against("rueidislock, 5 keys"), 1),
		}
	}
	section.Targets = append(section.Targets, figures.AtMost("keys that redlock orphaned", section.Rows[0].Figure("orphans"), 0))
	return section, nil
}
