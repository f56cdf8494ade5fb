package lock

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockproof/bench/figures"
	"lockproof/redlock"
)

// variants are the reference with one thing changed. The first two are as it is: by
// what they differ in a run, so may any other row without having another cost.
var variants = []peer{
	{name: "redlock", open: openRedlock},
	{name: "redlock, again", open: openRedlock},
	{name: "redlock, guarded", open: openGuarded},
}

// openGuarded is the reference with a restart guard.
func openGuarded(addrs []string) (locker, error) {
	return openReference(clients(addrs), redlock.WithRestartGuard(ttl))
}

// scripted is the reference as a user who may not use the servers' own commands, and
// so sends scripts: what it did with the last release of these servers.
var scripted = peer{name: "redlock, scripts", open: func(addrs []string) (locker, error) {
	var all []*redis.Client
	for _, c := range clients(addrs) {
		o := *c.Options()
		o.Username, o.Password = scriptsUser, scriptsUser
		all = append(all, redis.NewClient(&o))
	}
	return openReference(all)
}}

const scriptsUser = "scripts"

// changed measures what the lock's options and the servers' own commands cost or save.
// What is wanted is less than rounds differ, hence their number.
func changed(ctx context.Context, s *Servers) ([]figures.Section, error) {
	who := variants
	command, err := s.ownCommand(ctx)
	if err != nil {
		return nil, err
	}
	if command != "" {
		who = append(who[:len(who):len(who)], scripted)
		if err := s.forbid(ctx, command); err != nil {
			return nil, err
		}
	}
	if err := s.awaitUptime(ctx, ttl+4*time.Second); err != nil { // its guard's margin, and whole seconds
		return nil, err
	}
	var sections []figures.Section
	for _, callers := range []int{1, 32} {
		t := trial{callers: callers, rounds: 151, length: 200 * time.Millisecond, settle: settle}
		section, err := t.compare(ctx, s, who)
		if err != nil {
			return sections, err
		}
		section.Name = fmt.Sprintf("lock-options-%d", callers)
		section.Title = fmt.Sprintf("The reference and its options, callers: %d, keys of their own", callers)
		if command == "" {
			section.Notes = []string{"these servers have no command that compares and deletes: all rows use scripts"}
		} else {
			section.Notes = []string{"the servers' own command is " + command + "; its user may not use it where scripts are sent"}
		}
		guarded := section.Rows[2].Figure("to redlock")
		section.Targets = []figures.Target{figures.AtLeast("pairs with a guard, of those without", guarded, 0.98)}
		sections = append(sections, section)
	}
	return sections, nil
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

// forbid makes the user who may not use a command.
func (s *Servers) forbid(ctx context.Context, command string) error {
	return s.each(func(c *redis.Client) error {
		return c.Do(ctx, "acl", "setuser", scriptsUser, "on", ">"+scriptsUser, "~*", "+@all", "-"+command).Err()
	})
}

// awaitUptime waits until every server says that it has been up for so long.
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
