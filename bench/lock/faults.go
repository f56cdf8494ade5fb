package lock

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"example.org/lockproof/bench/figures"
)

// underFault is the trial for a misbehaving server. settle lets hung calls end before keys are counted.
func underFault() trial {
	return trial{callers: 8, rounds: 5, length: 500 * time.Millisecond, settle: time.Second}
}

// hung measures while the last server hangs like a stopped process.
func hung(ctx context.Context, s *Servers) (figures.Section, error) {
	last := len(s.Addrs) - 1
	t := underFault()
	t.begin = func() error { return s.Pause(ctx, last) }
	// The servers must resume for the next measurement, even if ctx has ended.
	t.end = func() error { return s.Resume(context.WithoutCancel(ctx), last) }
	return t.faulty(ctx, s, s.Addrs, "lock-hung-node", "One node of five hangs; 8 callers, keys of their own")
}

// far measures while the last server has a round trip of 50 ms.
func far(ctx context.Context, s *Servers) (figures.Section, error) {
	last := len(s.Addrs) - 1
	proxy := toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()),
		"far", "127.0.0.1:0", s.Addrs[last])
	if err := proxy.Start(); err != nil {
		return figures.Section{}, fmt.Errorf("a proxy before the far server: %w", err)
	}
	defer proxy.Stop()
	for _, way := range []string{"upstream", "downstream"} {
		toxic := fmt.Sprintf(`{"name":%q,"type":"latency","stream":%q,"toxicity":1,"attributes":{"latency":25}}`, way, way)
		if _, err := proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
			return figures.Section{}, fmt.Errorf("a delay before the far server: %w", err)
		}
	}
	addrs := append(slices.Clone(s.Addrs[:last]), proxy.Listen)
	return underFault().faulty(ctx, s, addrs, "lock-far-node",
		"One node of five is 50 ms away, there and back; 8 callers, keys of their own")
}

// faulty measures the peers that use all servers.
func (t trial) faulty(ctx context.Context, s *Servers, addrs []string, name, title string) (figures.Section, error) {
	chosen := slices.DeleteFunc(slices.Clone(peers), func(p peer) bool { return p.oneNode })
	results, err := t.run(ctx, s, addrs, chosen)
	if err != nil {
		return figures.Section{}, err
	}
	section := figures.Section{Name: name, Title: title}
	for i, p := range chosen {
		section.Rows = append(section.Rows, figures.Row{Name: p.name, Figures: []figures.Figure{
			figureOf("pairs", figures.PerSecond, results[i], rate),
			figureOf("grant p50", figures.Seconds, results[i], quantile(waits, 50)),
			figureOf("grant p99", figures.Seconds, results[i], quantile(waits, 99)),
			figureOf("commands", figures.Count, results[i], perGrant),
			figureOf("orphans", figures.Count, results[i], orphans),
		}})
	}
	section.Targets = []figures.Target{noOrphans(section)}
	return section, nil
}

// contended measures callers of one key, which they release at once.
func contended(ctx context.Context, s *Servers) (figures.Section, error) {
	t := trial{callers: 8, rounds: 3, length: 4 * time.Second, settle: settle, oneKey: true}
	chosen := slices.DeleteFunc(slices.Clone(peers), func(p peer) bool { return p.bare })
	results, err := t.run(ctx, s, s.Addrs, chosen)
	if err != nil {
		return figures.Section{}, err
	}
	section := figures.Section{
		Name:  "lock-contention",
		Title: "8 callers want one key, with each library's own delay between attempts",
		Notes: []string{"fairness is Jain's index of the grants to each caller: 1 if all got equally many, 1/8 if one " +
			"got all"},
	}
	for i, p := range chosen {
		section.Rows = append(section.Rows, figures.Row{Name: p.name, Figures: []figures.Figure{
			figureOf("grants", figures.PerSecond, results[i], rate),
			figureOf("grant p50", figures.Seconds, results[i], quantile(waits, 50)),
			figureOf("grant p99", figures.Seconds, results[i], quantile(waits, 99)),
			figureOf("fairness", figures.Count, results[i], func(r round) float64 { return jain(r.grants) }),
			figureOf("commands", figures.Count, results[i], perGrant),
			figureOf("orphans", figures.Count, results[i], orphans),
		}})
	}
	section.Targets = []figures.Target{noOrphans(section)}
	return section, nil
}

// jain is Jain's index of fairness: 1 if all shares are equal, 1/n if one has all. No shares count as fair.
func jain(shares []int) float64 {
	var sum, squares float64
	for _, n := range shares {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// noOrphans requires that the first row, which is ours, left no key in any round.
func noOrphans(s figures.Section) figures.Target {
	worst := figures.Of("orphans", figures.Count, slices.Max(s.Rows[0].Figure("orphans").Rounds))
	return figures.AtMost("keys orphaned by "+s.Rows[0].Name+" in the worst round", worst, 0)
}
