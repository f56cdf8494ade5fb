package validate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/suite"
	"lockproof/validate/settings"
)

// Advice is a change that makes the settings safe, in the words of the file that
// it changes.
type Advice struct {
	File  string   `json:"file"`
	Lines []string `json:"lines"`
	Cost  string   `json:"cost"`
	// Against is what it helps against, where there are takeovers too.
	Against string `json:"against,omitempty"`
	// Tally is of the question's crashes with the change made, in virtual time.
	Tally Tally `json:"trials"`
}

// change is a candidate for an advice.
type change struct {
	Advice
	redis  settings.Redis
	policy settings.Policy
	guard  bool
}

// adviceTrials is how often each crash and TTL is tried under a change.
const adviceTrials = 20

// Advise finds the changes that make unsafe settings safe, the least expensive
// first: what costs nothing, a restart delay, which costs only when nodes go
// down, then the append-only file, which costs with every lock. Each was tried.
func (a *Asker) Advise(ctx context.Context, answer *Answer) error {
	if answer.Verdict != Unsafe || ctx.Err() != nil {
		return nil
	}
	a.stage("changes that would help")
	base, free := a.free(answer)
	candidates := a.changes(base, free)
	if crashes := slices.ContainsFunc(answer.Rows, func(r Row) bool { return r.Verdict == Unsafe }); len(answer.Takeovers) > 0 &&
		!crashes && len(answer.Hazards) == 0 {
		candidates = nil // it is for takeovers alone that something has to change
	}
	for _, c := range candidates {
		asker := *a
		asker.Redis, asker.Policy, asker.Guard, asker.On = &c.redis, c.policy, c.guard, suite.Virtual
		tallies, err := asker.tally(ctx, asker.points(), 0, adviceTrials, suite.Virtual, false)
		a.Failure = cmp.Or(a.Failure, asker.Failure)
		if err != nil || ctx.Err() != nil {
			return err
		}
		for _, t := range tallies {
			c.Tally.Held += t.Held
			c.Tally.Violated += t.Violated
			c.Tally.Inconclusive += t.Inconclusive + t.Failed
		}
		if c.Tally.Violated == 0 && c.Tally.Inconclusive == 0 && c.Tally.Held > 0 {
			gap, err := asker.longestGap(ctx)
			a.Failure = cmp.Or(a.Failure, asker.Failure)
			if err != nil || ctx.Err() != nil {
				return err
			}
			c.Cost = a.cost(c, answer, gap)
			if len(answer.Takeovers) > 0 {
				c.Against = "crashes"
			}
			answer.Advice = append(answer.Advice, c.Advice)
		}
	}
	return a.adviseWait(ctx, answer)
}

// free makes the changes that cost nothing: they take a hazard away.
func (a *Asker) free(answer *Answer) (settings.Redis, []string) {
	r, lines := *a.Redis, []string(nil)
	for _, h := range answer.Hazards {
		switch h.Name {
		case Eviction:
			r.MaxMemoryPolicy = "noeviction"
			lines = append(lines, "maxmemory-policy noeviction")
		case RewriteHazard:
			r.NoFsyncOnRewrite = false
			lines = append(lines, "no-appendfsync-on-rewrite no")
		}
	}
	return r, lines
}

// changes lists the candidates, the least expensive first.
func (a *Asker) changes(base settings.Redis, free []string) []change {
	var all []change
	if len(free) > 0 {
		all = append(all, change{Advice: a.inSettings(free), redis: base, policy: a.Policy})
	}
	if a.forgets(&base) {
		all = append(all, a.delayed(base, free), a.guarded(base, free))
	}
	for _, fsync := range []string{"everysec", "always"} {
		r := base
		r.AppendOnly, r.AppendFsync = true, fsync
		p := PersistenceOf(&r)
		if p == PersistenceOf(&base) || slices.ContainsFunc(a.Crashes, func(c settings.Crash) bool { return Forgets(p, c) }) {
			continue
		}
		lines := slices.Clone(free)
		if !base.AppendOnly {
			lines = append(lines, "appendonly yes")
		}
		lines = append(lines, "appendfsync "+fsync)
		if fsync == "always" && r.NoFsyncOnRewrite {
			r.NoFsyncOnRewrite = false
			lines = append(lines, "no-appendfsync-on-rewrite no")
		}
		all = append(all, change{Advice: a.inSettings(lines), redis: r, policy: a.Policy})
		break // the next costs more
	}
	return all
}

// forgets reports whether one of the question's crashes loses a lock.
func (a *Asker) forgets(r *settings.Redis) bool {
	return slices.ContainsFunc(a.Crashes, func(c settings.Crash) bool {
		return Forgets(PersistenceOf(r), c) && a.Policy.Returns[c].After < Boundary(a.Longest(), a.Drift)
	})
}

// delayed keeps a node away until its locks have expired, at every start: a
// pause that only follows a crash does not hold it back at boot.
func (a *Asker) delayed(base settings.Redis, free []string) change {
	delay := wholeSeconds(Boundary(a.Longest(), a.Drift))
	c := change{Advice: a.asleep(int(delay/time.Second), free), redis: base, policy: a.Policy}
	if len(free) > 0 && a.Policy.Kind != "" {
		c.alsoIn(a.inSettings(free))
	}
	c.policy.Returns = maps.Clone(a.Policy.Returns)
	for crash := range c.policy.Returns {
		c.policy.Returns[crash] = settings.Return{After: delay, Why: "the change"}
	}
	return c
}

// guarded has the lock see to it that a node which was down has no vote for so long.
func (a *Asker) guarded(base settings.Redis, free []string) change {
	option := fmt.Sprintf("redlock.New(nodes, redlock.WithRestartGuard(%d*time.Millisecond))", a.Longest().Milliseconds())
	if a.Longest()%time.Second == 0 {
		option = fmt.Sprintf("redlock.New(nodes, redlock.WithRestartGuard(%d*time.Second))", a.Longest()/time.Second)
	}
	c := change{Advice: Advice{File: GuardedClients, Lines: []string{option}}, redis: base, policy: a.Policy, guard: true}
	if len(free) > 0 {
		c.alsoIn(a.inSettings(free))
	}
	return c
}

// GuardedClients is where a restart guard is put, in place of a file.
const GuardedClients = "the code of all clients, where they use package redlock"

// alsoIn adds lines for another file.
func (c *change) alsoIn(other Advice) {
	c.Lines = append(append(c.Lines, "and in "+other.File+":"), other.Lines...)
}

func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

// longestGap is how long a majority that is down keeps everybody from the lock,
// in the worst of the question's crashes.
func (a *Asker) longestGap(ctx context.Context) (time.Duration, error) {
	var found Answer
	err := a.Availability(ctx, &found)
	longest := time.Duration(0)
	for _, g := range found.Gaps {
		longest = max(longest, g.Longest)
	}
	return longest, err
}

// cost says what a change costs, measured where it was measured.
func (a *Asker) cost(c change, answer *Answer, gap time.Duration) string {
	now, then := PersistenceOf(a.Redis), PersistenceOf(&c.redis)
	switch {
	case c.guard:
		away := wholeSeconds(Boundary(a.Longest(), a.Drift)) + 2*time.Second
		return fmt.Sprintf("nothing with each lock; a node that went down has no vote for up to %s, and if a majority did, nobody gets a lock for as long",
			away)
	case c.policy.Returns[settings.Kill].Why == "the change":
		return fmt.Sprintf(
			"nothing with each lock; a node that went down is away for %s, and if a majority did, nobody gets a lock for %s (measured)",
			c.policy.Returns[settings.Kill].After, gap.Round(100*time.Millisecond))
	case now != then:
		if from, to := answer.Throughput.Of(now), answer.Throughput.Of(then); from > 0 && to > 0 {
			return fmt.Sprintf("%s instead of %s locks a second on one connection of this machine's disk (fdatasync %s)",
				thousands(to), thousands(from), answer.Throughput.Fdatasync.Round(time.Microsecond))
		}
		if then == cluster.PersistAlways {
			return "each lock waits for the disk"
		}
		return "each lock is written to a file"
	}
	for _, h := range answer.Hazards {
		if h.Name == Eviction {
			return "a full node refuses writes, locks among them, instead of evicting other keys"
		}
	}
	return "while the file is rewritten, each lock waits for a disk that is busy"
}

// thousands writes a rate: 860, 4.9k, 42k.
func thousands(rate float64) string {
	switch {
	case rate < 1000:
		return fmt.Sprintf("%.0f", rate)
	case rate < 10_000:
		return fmt.Sprintf("%.1fk", rate/1000)
	}
	return fmt.Sprintf("%.0fk", rate/1000)
}
