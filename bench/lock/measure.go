package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.org/lockproof/bench/figures"
)

const nodes = 5

// Measure measures all peers on five real servers.
func Measure(ctx context.Context, say func(format string, args ...any)) (sections []figures.Section, err error) {
	s, err := StartServers(ctx, nodes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, part := range []struct {
		doing   string
		measure func(context.Context, *Servers) (figures.Section, error)
	}{
		{"pairs, one caller", alone},
		{"pairs, 32 callers", crowded},
		{"pairs while one node hangs", hung},
		{"pairs while one node is far away", far},
		{"one key that all want", contended},
		{"pairs with fencing tokens", fencing},
	} {
		say("lock: %s", part.doing)
		section, err := part.measure(ctx, s)
		if err != nil {
			return sections, fmt.Errorf("%s: %w", part.doing, err)
		}
		sections = append(sections, section)
	}
	return sections, nil
}

// alone measures one caller, and so the time that a lock itself takes: the limit is the bare commands.
func alone(ctx context.Context, s *Servers) (figures.Section, error) {
	section, err := throughput(ctx, s, 1)
	if err != nil {
		return section, err
	}
	section.Name, section.Title = "lock-1-caller", "Acquire and release by one caller"
	section.Targets = []figures.Target{
		against(section, "raw go-redis", 0.95),
		against(section, "redsync", 1.4),
		noOrphans(section),
	}
	return section, nil
}

// crowded measures 32 callers of one client.
func crowded(ctx context.Context, s *Servers) (figures.Section, error) {
	section, err := throughput(ctx, s, 32)
	if err != nil {
		return section, err
	}
	section.Name, section.Title = "lock-32-callers", "Acquire and release by 32 callers, keys of their own"
	section.Targets = []figures.Target{
		against(section, "redsync", 2.2),
		against(section, "rueidislock, 5 keys", 1),
		noOrphans(section),
	}
	return section, nil
}

// against requires our pairs to be a multiple of a peer's, round by round.
func against(s figures.Section, name string, bound float64) figures.Target {
	row := s.Rows[slices.IndexFunc(s.Rows, func(r figures.Row) bool { return r.Name == name })]
	return figures.AtLeast("redlock's pairs, of "+name,
		figures.Ratios("", s.Rows[0].Figure("pairs"), row.Figure("pairs")), bound)
}

// throughput measures pairs of acquire and release without contention.
func throughput(ctx context.Context, s *Servers, callers int) (figures.Section, error) {
	return trial{callers: callers, rounds: 15, length: 200 * time.Millisecond, settle: settle}.compare(ctx, s, peers)
}

// compare measures peers on all servers; the first is ours.
func (t trial) compare(ctx context.Context, s *Servers, chosen []peer) (figures.Section, error) {
	results, err := t.run(ctx, s, s.Addrs, chosen)
	if err != nil {
		return figures.Section{}, err
	}
	var section figures.Section
	ours := figureOf("pairs", figures.PerSecond, results[0], rate)
	for i, p := range chosen {
		pairsOf := figureOf("pairs", figures.PerSecond, results[i], rate)
		section.Rows = append(section.Rows, figures.Row{Name: p.name, Figures: []figures.Figure{
			pairsOf,
			figures.Ratios("to redlock", pairsOf, ours),
			figureOf("p50", figures.Seconds, results[i], quantile(pairs, 50)),
			figureOf("p99", figures.Seconds, results[i], quantile(pairs, 99)),
			figureOf("client CPU", figures.Seconds, results[i], clientCPU),
			figureOf("allocations", figures.Count, results[i], allocations),
			figureOf("commands", figures.Count, results[i], perGrant),
			figureOf("orphans", figures.Count, results[i], orphans),
		}})
	}
	return section, nil
}
