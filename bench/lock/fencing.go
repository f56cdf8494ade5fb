package lock

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/bench/figures"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/redlock"
)

// fencingWays are the reference and the ways to issue fencing tokens from its nodes: docs/fencing.md compares them.
var fencingWays = []string{
	locks.Reference, "redlock-fenced-by-lock-token", "redlock-fenced-by-one-node", "redlock-fenced-by-highest",
	"redlock-fenced",
}

// fencing measures the cost of tokens beside the reference.
func fencing(ctx context.Context, s *Servers) (figures.Section, error) {
	var chosen []peer
	for _, name := range fencingWays {
		open := func(addrs []string) (locker, error) { return openBuiltIn(name, addrs) }
		chosen = append(chosen, peer{name: name, open: open})
	}
	t := trial{callers: 1, rounds: 15, length: 200 * time.Millisecond, settle: settle}
	results, err := t.run(ctx, s, s.Addrs, chosen)
	if err != nil {
		return figures.Section{}, err
	}
	section := figures.Section{Name: "lock-fencing", Title: "Acquire and release by one caller, with a fencing token",
		Notes: []string{"keys left are counters, which must never be forgotten"}}
	ours := figureOf("pairs", figures.PerSecond, results[0], rate)
	for i, p := range chosen {
		pairsOf := figureOf("pairs", figures.PerSecond, results[i], rate)
		section.Rows = append(section.Rows, figures.Row{Name: p.name, Figures: []figures.Figure{
			pairsOf,
			figures.Ratios("to redlock", pairsOf, ours),
			figureOf("grant p50", figures.Seconds, results[i], quantile(waits, 50)),
			figureOf("commands", figures.Count, results[i], perGrant),
			figureOf("keys left", figures.Count, results[i],
				func(r round) float64 { return orphans(r) / float64(max(1, r.total())) }),
		}})
	}
	return section, nil
}

type builtIn struct {
	lock    locks.Lock
	clients []*redis.Client
}

func openBuiltIn(name string, addrs []string) (locker, error) {
	kind, err := locks.Find(name)
	if err != nil {
		return nil, err
	}
	b := &builtIn{clients: clients(addrs)}
	nodes := make([]redis.UniversalClient, len(b.clients))
	for i, client := range b.clients {
		nodes[i] = client
	}
	b.lock, err = kind.New(locks.Env{Nodes: nodes, Clock: redlock.SystemClock(), Rand: rand.Reader,
		Options: locks.Options{TTL: ttl, NodeTimeout: 500 * time.Millisecond}})
	if err != nil {
		return nil, errors.Join(err, closeAll(b.clients))
	}
	return b, nil
}

func (b *builtIn) acquire(ctx context.Context, key string) (held, error) {
	lease, err := b.lock.Acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	return builtInHeld{lease}, nil
}

func (b *builtIn) close() error { return errors.Join(b.lock.Close(), closeAll(b.clients)) }

type builtInHeld struct{ lease locks.Lease }

func (h builtInHeld) release(ctx context.Context) error { return h.lease.Release(ctx) }
