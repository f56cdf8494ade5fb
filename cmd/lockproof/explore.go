package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.org/lockproof/checker"
	"example.org/lockproof/explore"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
)

type exploreOptions struct {
	search            explore.Search
	options           suite.Options // of the run that repeats the finds
	brokenAssumptions []string
	worker            string // a program that is the lock under test, "" for a built-in lock
	exhaust           bool
}

func (p *program) exploreCommand() *cobra.Command {
	x := exploreOptions{options: suite.Options{Cluster: suite.Virtual, Trials: 1}}
	cmd := &cobra.Command{
		Use:   "explore",
		Short: "Search for schedules of faults that break a lock",
		Long: `Draws schedules of operations and faults at random, runs each in virtual time, and judges
every property. A failing schedule is shrunk and written as a scenario file, which
lockproof run repeats.

A lock on several nodes rests on assumptions. Schedules keep them, unless --break
names one:
` + assumptionHelp() + `
These faults are always drawn, since a correct lock must survive them: messages that
are late, lost or out of order, partitions, clients and nodes that pause, crash and
restart with their disks, cancelled calls, renewals that are late, clocks that differ by
the drift factor.

With --worker, the lock is a program in any language, as in lockproof run: its schedules
take a second or two each, on real servers, one after another.

The same command with the same --out continues an interrupted search. To search on several
machines, give each its own --seed, --schedules apart.

Exit codes: 0 nothing was violated; 1 something was; 4 nothing was, but the search was
cut short, could not judge a schedule, or tested nothing; 3 the harness itself
failed; 64 bad usage.`,
		Example: `  lockproof explore --lock redsync
  lockproof explore --without FreshToken --for 1m
  lockproof explore --break pauses --property protected-data
  lockproof explore --exhaust --without Majority --enough 1
  lockproof explore --worker 'python3 my_lock.py' --for 10m
  lockproof explore --schedules 10000 --seed 20001`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			given := cmd.Flags().Changed
			if x.worker != "" {
				if err := p.exploreWorker(cmd.Context(), &x, given); err != nil {
					return err
				}
			}
			if err := x.check(given); err != nil {
				return err
			}
			return p.explore(cmd.Context(), &x)
		},
	}
	x.define(cmd.Flags())
	return cmd
}

func (x *exploreOptions) define(f *pflag.FlagSet) {
	s, o := &x.search, &x.options
	f.SortFlags = false
	f.StringVar(&o.Lock, "lock", locks.Reference, "lock under test: "+strings.Join(locks.Names(), ", "))
	f.StringVar(&x.worker, "worker", "",
		"a program that is the lock under test: its command line; each schedule runs on real servers")
	f.StringSliceVar(&o.Without, "without", nil,
		"rules of the reference lock to switch off, with commas or by several flags: "+strings.Join(ruleNames(), ", "))
	f.StringSliceVar(&x.brokenAssumptions, "break", nil,
		"assumptions that schedules may break: "+strings.Join(explore.AssumptionNames(), ", "))
	f.StringSliceVar(&s.Space.Properties, "property", nil, "properties whose violation counts (default: all)")
	f.DurationVar(&s.For, "for", 20*time.Second, "real time to search at most; 0: until --schedules is reached; "+
		"with --worker 5m by default")
	f.IntVar(&s.Schedules, "schedules", 0, "run at most this many schedules (default: no limit but --for)")
	f.BoolVar(&x.exhaust, "exhaust", false,
		"run every schedule of a small scope, the shortest first, instead of random ones")
	f.IntVar(&s.Enough, "enough", 0, "stop after this many different violations (default: never)")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the first schedule; each further one adds 1")
	f.DurationVar(&o.TTL, "ttl", time.Second, "the lock's TTL, 20ms to 10m")
	f.DurationVar(&s.Shrink, "shrink", 30*time.Second, "real time to shrink one find at most")
	f.StringVar(&o.Out, "out", "out", "folder for results and histories")
}

func assumptionHelp() string {
	var b strings.Builder
	for _, a := range explore.Assumptions {
		fmt.Fprintf(&b, "  %-9s%s\n", a.Assumption, a.Says)
	}
	return b.String()
}

// check refuses invalid options, and completes the search.
func (x *exploreOptions) check(given func(string) bool) error {
	s, o := &x.search, &x.options
	if err := checkOptions(o, given); err != nil {
		return err
	}
	if _, err := o.Jobs(nil); err != nil {
		return usage("%w", err)
	}
	kind, err := locks.Find(o.Lock)
	switch {
	case err != nil:
		return usage("--lock: %w", err)
	case kind.SingleNode && x.exhaust:
		return usage("--exhaust runs schedules on three nodes, but --lock %s uses one", kind.Name)
	case s.For < 0 || s.Schedules < 0 || s.Enough < 0 || s.Shrink < 0:
		return usage("--for, --schedules, --enough and --shrink must not be negative: 0 means no limit")
	case s.For == 0 && s.Schedules == 0:
		return usage("--for 0 without --schedules would never end: give one of them")
	}
	s.Seed, s.Space.Lock, s.Space.Without, s.Space.TTL = o.Seed, o.Lock, o.Without, o.TTL
	o.Without, o.TTL = nil, 0 // each schedule has its own
	if err := x.checkNames(); err != nil {
		return err
	}
	if x.exhaust {
		if given("schedules") || given("seed") {
			return usage("--exhaust runs every schedule of its scope: give it without --schedules and --seed")
		}
		if err := s.Exhaust(); err != nil {
			return usage("--lock: %w", err)
		}
	}
	if (given("schedules") || x.exhaust) && !given("for") {
		s.For = 0
	}
	return nil
}

// checkNames parses the names of assumptions and properties.
func (x *exploreOptions) checkNames() error {
	s := &x.search
	for _, name := range x.brokenAssumptions {
		if err := oneOf("break", name, "assumption", explore.AssumptionNames()); err != nil {
			return err
		}
		s.Space.Break = append(s.Space.Break, explore.Assumption(name))
	}
	for _, name := range s.Space.Properties {
		if err := oneOf("property", name, "property", checker.Names()); err != nil {
			return err
		}
	}
	return nil
}
