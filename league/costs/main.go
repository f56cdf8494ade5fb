// Command costs measures the cost of the league's locks, side by side on real servers in one run, and writes it for the
// page: see `make league`. It omits locks of other languages: their workers are watched, not measured.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"example.com/league"
	"example.org/lockproof/bench/lock"
)

func main() {
	out := flag.String("out", filepath.Join("..", "out", "league", "costs.json"), "the file to write")
	rounds := flag.Int("rounds", 40, "how many rounds, each of every lock in turn")
	length := flag.Duration("length", 30*time.Millisecond, "how long one lock's part of a round is")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, *out, *rounds, *length); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const servers = 5

func measure(ctx context.Context, out string, rounds int, length time.Duration) (err error) {
	s, err := lock.StartServers(ctx, servers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	m := &measured{ctx: ctx, servers: s, length: length}
	for _, l := range append([]league.Lock{rawSeveral, rawSingle}, league.All()...) {
		if l.New != nil && l.Unjudged == "" {
			if err := m.open(l); err != nil {
				return fmt.Errorf("%s: %w", l.Name, err)
			}
		}
	}
	defer m.close()
	for n := range rounds + 1 { // round 0 dials, and does not count
		for i := range m.all {
			if err := m.pairs(m.all[(i+n)%len(m.all)], n > 0); err != nil {
				return err
			}
		}
	}
	for _, c := range m.all {
		if err := m.orphans(c); err != nil {
			return err
		}
	}
	for _, c := range m.all {
		if err := m.hung(c); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(m.costs(), "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(text, '\n'), 0o644)
}
