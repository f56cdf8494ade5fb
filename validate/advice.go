package validate

import (
	"cmp"
	"context"
	"slices"
	"time"

	"lockproof/harness/suite"
	"lockproof/validate/settings"
)

// Advice is a change that makes the settings safe.
type Advice struct {
	// File is what is changed: files, or what it is in words.
	File string `json:"file"`
	// Diff is the change of the very files; nil where it is told in Lines.
	Diff *settings.Diff `json:"diff,omitempty"`
	// Lines are the change in words, or lines for a file that is not at hand.
	Lines []string `json:"lines,omitempty"`
	// ByHand is why there is no diff of a file that was given.
	ByHand string `json:"by_hand,omitempty"`
	Cost   string `json:"cost"`
	// Against is what it helps against, where there are takeovers too.
	Against string `json:"against,omitempty"`
	// Verdict is what is said of the settings with the change made, and Tally of the
	// question's crashes then, in virtual time. With a diff, the settings are those that are
	// read from the changed files.
	Verdict Verdict `json:"verdict"`
	Tally   Tally   `json:"trials"`
}

// wish is what a change is to bring about.
type wish struct {
	lines []string      // of redis.conf
	sleep time.Duration // before each start of a server, 0: none
	guard bool          // the lock gets a restart guard
}

// change is a candidate for an advice, and who asks about the settings with it made.
type change struct {
	wish
	Advice
	asker Asker
}

// adviceTrials is how often each crash and TTL is tried under a change.
const adviceTrials = 20

// Advise finds the changes that make settings safe, the least expensive first: what costs
// nothing, a restart delay, which costs only when nodes go down, then the append-only file,
// which costs with every lock. Each is made in the question's files, which are read again,
// and judged.
func (a *Asker) Advise(ctx context.Context, answer *Answer) error {
	if answer.Verdict == Safe || answer.Verdict == Inconclusive && !a.mendable(answer) || ctx.Err() != nil {
		return nil
	}
	a.stage("changes that would help")
	wishes := a.wishes(answer)
	if crashes := slices.ContainsFunc(answer.Rows, func(r Row) bool { return r.Verdict == Unsafe }); len(answer.Takeovers) > 0 &&
		!crashes && len(answer.Hazards) == 0 {
		wishes = nil // it is for takeovers alone that something has to change
	}
	for _, w := range wishes {
		c, why := a.edited(w)
		if why != nil {
			c = a.inWords(w, why)
		}
		if err := a.try(ctx, answer, c); err != nil || ctx.Err() != nil {
			return err
		}
	}
	return a.adviseWait(ctx, answer)
}

// mendable reports whether what keeps an answer inconclusive is in the settings, so that a
// change of them may settle it.
func (a *Asker) mendable(answer *Answer) bool {
	doubted := slices.ContainsFunc(answer.Rows, func(r Row) bool { return len(r.Doubts) > 0 })
	return !answer.Interrupted && a.Failure == "" && a.Redis.Unread == "" && len(answer.Unknown) == 0 && len(answer.Rows) > 0 &&
		(doubted || len(answer.Hazards) > 0)
}

// try judges the settings with a change made, and takes it for an advice if they are safe
// then, or if nothing is left but what keeps the settings as they are from being judged.
func (a *Asker) try(ctx context.Context, answer *Answer, c *change) error {
	c.asker.On, c.asker.Trials, c.asker.Out, c.asker.Takeovers, c.asker.Stage = suite.Virtual, adviceTrials, "", nil, nil
	found := &Answer{}
	err := c.asker.Judge(ctx, found)
	a.Failure = cmp.Or(a.Failure, c.asker.Failure)
	if err != nil || ctx.Err() != nil || !helps(answer, found) {
		return err
	}
	for _, r := range found.Rows {
		c.Tally.Held += r.Tally.Held
	}
	gap, err := c.asker.longestGap(ctx)
	a.Failure = cmp.Or(a.Failure, c.asker.Failure)
	if err != nil || ctx.Err() != nil {
		return err
	}
	c.Verdict, c.Cost = found.Verdict, a.cost(c, answer, gap)
	if len(answer.Takeovers) > 0 {
		c.Against = "crashes"
	}
	answer.Advice = append(answer.Advice, c.Advice)
	return nil
}

// helps reports whether what was found with a change made is better than the answer.
func helps(answer, found *Answer) bool {
	if found.Verdict == Safe || answer.Verdict != Unsafe || len(found.Rows) == 0 || len(found.Hazards) > 0 {
		return found.Verdict == Safe
	}
	for _, r := range found.Rows {
		if r.Tally.Held == 0 || r.Tally.Violated+r.Tally.Inconclusive+r.Tally.Failed > 0 {
			return false
		}
		for _, doubt := range r.Doubts { // none that the change brings, or should take away
			if doubt.Data || !slices.ContainsFunc(answer.Remarks, func(m settings.Remark) bool { return m.What == doubt.What }) {
				return false
			}
		}
	}
	return true
}

// wishes lists what may help, the least expensive first.
func (a *Asker) wishes(answer *Answer) []wish {
	free := free(answer)
	base := applied(*a.Redis, free)
	var all []wish
	if len(free) > 0 {
		all = append(all, wish{lines: free})
	}
	delay := wholeSeconds(Boundary(a.Longest(), a.Drift))
	doubted := slices.ContainsFunc(answer.Rows, func(r Row) bool { return len(r.Doubts) > 0 })
	switch {
	case a.forgets(&base):
		all = append(all, wish{lines: free, sleep: delay}, wish{lines: free, guard: true})
	case doubted: // of a sleep that something ends
		all = append(all, wish{lines: free, sleep: delay})
	}
	for _, fsync := range []string{"everysec", "always"} {
		lines := slices.Clone(free)
		if !base.AppendOnly {
			lines = append(lines, "appendonly yes")
		}
		lines = append(lines, "appendfsync "+fsync)
		if fsync == "always" && base.NoFsyncOnRewrite {
			lines = append(lines, "no-appendfsync-on-rewrite no")
		}
		r := applied(base, lines)
		p := PersistenceOf(&r)
		if p != PersistenceOf(&base) && !slices.ContainsFunc(a.Crashes, func(c settings.Crash) bool { return loses(&r, c) }) {
			return append(all, wish{lines: lines}) // the next costs more
		}
	}
	return all
}

// free are the changes that cost nothing: they take a hazard away.
func free(answer *Answer) (lines []string) {
	for _, h := range answer.Hazards {
		switch h.Name {
		case Eviction:
			lines = append(lines, "maxmemory-policy noeviction")
		case RewriteHazard:
			lines = append(lines, "no-appendfsync-on-rewrite no")
		}
	}
	return lines
}

// forgets reports whether one of the question's crashes loses a lock.
func (a *Asker) forgets(r *settings.Redis) bool {
	return slices.ContainsFunc(a.Crashes, func(c settings.Crash) bool {
		return loses(r, c) && a.Policy.Returns[c].After < Boundary(a.Longest(), a.Drift)
	})
}

func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}
