package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/bench/figures"
	"example.org/lockproof/redlock/batch"
	"example.org/lockproof/redlock/guard"
	"example.org/lockproof/redlock/native"
	"example.org/lockproof/redlock/server"
)

// variants are the reference with one change each. The first two are equal: their difference is the error of the
// method.
var variants = []peer{
	variant("redlock", full...),
	variant("redlock, again", full...),
	variant("redlock, guarded", batch.Pipelines, native.Commands, guard.Servers(guard.Options{Longest: ttl})),
	variant("redlock, no pipelines", native.Commands, guard.Servers(guard.Options{})),
	variant("redlock, no native", batch.Pipelines, guard.Servers(guard.Options{})),
	variant("redlock, no guard", batch.Pipelines, native.Commands),
	variant("redlock, no decorator"),
}

// patience is a node timeout for a machine that stops for a second at times, in about one of a thousand turns.
const patience = ttl / 2

func variant(name string, decorators ...server.Decorator) peer {
	return peer{name: name,
		open: func(addrs []string) (locker, error) { return openReference(clients(addrs), patience, decorators...) }}
}

// scripted is the reference for a user without permission for the servers' own commands, so that it sends scripts, as
// on older servers.
var scripted = peer{name: "redlock, scripts", open: func(addrs []string) (locker, error) {
	var all []*redis.Client
	for _, c := range clients(addrs) {
		o := *c.Options()
		o.Username, o.Password = scriptsUser, scriptsUser
		all = append(all, redis.NewClient(&o))
	}
	return openReference(all, patience, full...)
}}

const scriptsUser = "scripts"

// alternating is the method to compare variants: a cost of 2 % is less than the difference of any two rounds on a
// shared machine. So all locks are open and take turns of a few pairs, in random order, and each turn is compared with
// the reference's of the same round. After some thousand turns the median of the ratios is known to within 1 %,
// whatever their distribution. One long round shows nothing: the machine disturbs each lock differently.
func alternating(callers int) trial {
	return trial{callers: callers, rounds: 2000, length: 3 * time.Millisecond, brief: true, settle: 300 * time.Microsecond,
		known: func(results [][]round) bool {
			for _, q := range quantities {
				for _, r := range results[1:] {
					if i := q.ratio(r, results[0]).Interval; i == nil || i.High-i.Low > 0.01 {
						return false
					}
				}
			}
			return true
		}, most: 10000}
}

// quantity is a measure on which a variant differs from the reference.
type quantity struct {
	name, toReference string
	unit              figures.Unit
	of                func(round) float64
}

var quantities = []quantity{
	{"pairs", "to redlock", figures.PerSecond, rate},
	{"client CPU", "CPU, to redlock", figures.Seconds, clientCPU},
}

// ratio compares a variant with the reference, round by round.
func (q quantity) ratio(variant, reference []round) figures.Figure {
	return figures.Ratios(q.toReference, q.figure(variant), q.figure(reference)).WithInterval()
}

func (q quantity) figure(rounds []round) figures.Figure {
	return figureOf(q.name, q.unit, rounds, q.of)
}

// MeasureOptions measures the effect of the lock's options and of the servers' own commands, on five real servers.
func MeasureOptions(ctx context.Context, say func(format string, args ...any)) (sections []figures.Section, err error) {
	s, err := StartServers(ctx, nodes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	chosen, note, err := s.variants(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.awaitUptime(ctx, ttl+4*time.Second); err != nil { // the guard's margin, and whole seconds
		return nil, err
	}
	for _, callers := range []int{1, 32} {
		say("lock-options: callers: %d", callers)
		section, err := sideBySide(ctx, s, chosen, callers)
		if err != nil {
			return sections, err
		}
		section.Name = fmt.Sprintf("lock-options-%d", callers)
		section.Title = fmt.Sprintf("The reference and its options, callers: %d, keys of their own", callers)
		section.Notes = append(section.Notes, note)
		sections = append(sections, section)
	}
	return sections, nil
}

// variants are those that make a difference on these servers, and a note on their own command.
func (s *Servers) variants(ctx context.Context) (chosen []peer, note string, err error) {
	command, err := s.ownCommand(ctx)
	if err != nil || command == "" {
		return variants, "these servers have no command that compares and deletes: all rows use scripts", err
	}
	return append(variants[:len(variants):len(variants)], scripted),
		"the servers' own command is " + command + "; its user may not use it where scripts are sent", s.forbid(ctx, command)
}

// sideBySide compares variants with the first of them. It counts their commands and allocations in longer rounds.
func sideBySide(ctx context.Context, s *Servers, chosen []peer, callers int) (section figures.Section, err error) {
	counts, err := trial{callers: callers, rounds: 9, length: 200 * time.Millisecond, settle: settle}.run(ctx, s, s.Addrs,
		chosen)
	if err != nil {
		return section, err
	}
	t := alternating(callers)
	turns, err := t.run(ctx, s, s.Addrs, chosen)
	if err != nil {
		return section, err
	}
	section.Notes = []string{fmt.Sprintf("%d turns of %s each; in brackets where the median of the ratios lies with 95 "+
		"%% confidence",
		len(turns[0]), t.length)}
	for i, p := range chosen {
		row := figures.Row{Name: p.name}
		for _, q := range quantities {
			row.Figures = append(row.Figures, q.figure(turns[i]))
			if i > 0 {
				row.Figures = append(row.Figures, q.ratio(turns[i], turns[0]))
			}
		}
		for k := range row.Figures {
			row.Figures[k].Rounds = nil // tens of thousands
		}
		row.Figures = append(row.Figures, figureOf("allocations", figures.Count, counts[i], allocations),
			figureOf("commands", figures.Count, counts[i], perGrant))
		section.Rows = append(section.Rows, row)
	}
	section.Targets = []figures.Target{
		figures.SurelyAtLeast("pairs with a guard, of those without", section.Rows[2].Figure("to redlock"), 0.98),
		figures.SurelyAtMost("client CPU with a guard, of that without", section.Rows[2].Figure("CPU, to redlock"), 1.02),
	}
	return section, nil
}

// ownCommand is the servers' command that compares and deletes, "" if they have none.
func (s *Servers) ownCommand(ctx context.Context) (command string, err error) {
	err = s.each(func(c *redis.Client) error {
		known, err := c.Command(ctx).Result()
		for _, name := range []string{"delex", "delifeq"} {
			if known[name] != nil {
				command = name
			}
		}
		return err
	})
	return command, err
}

// forbid makes a user without permission for a command.
func (s *Servers) forbid(ctx context.Context, command string) error {
	return s.each(func(c *redis.Client) error {
		return c.Do(ctx, "acl", "setuser", scriptsUser, "on", ">"+scriptsUser, "~*", "+@all", "-"+command).Err()
	})
}

// awaitUptime waits until every server reports this uptime.
func (s *Servers) awaitUptime(ctx context.Context, least time.Duration) error {
	return s.each(func(c *redis.Client) error {
		for {
			info, err := c.InfoMap(ctx, "server").Result()
			if err != nil {
				return err
			}
			up, err := time.ParseDuration(info["Server"]["uptime_in_seconds"] + "s")
			if err != nil || up >= least {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(least - up):
			}
		}
	})
}
