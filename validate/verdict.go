package validate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/kinds"
	"lockproof/harness/suite"
	"lockproof/validate/settings"
)

// Judge runs the crashes of the question and says what is safe. What was cut
// short says so.
func (a *Asker) Judge(ctx context.Context, answer *Answer) error {
	answer.Question = a.Question
	answer.Unknown = a.unknown()
	answer.Remarks = slices.Concat(a.Redis.Remarks, a.Policy.Remarks)
	if answer.Service = a.Service; a.Service != nil {
		answer.Remarks = append(answer.Remarks, settings.Remark{Place: settings.Place{File: a.Service.Page}, What: a.Service.Says})
	}
	a.stage("crashes under your settings")
	points := a.points()
	if err := a.judgeTakeovers(ctx, answer); err != nil {
		return err
	}
	tallies, err := a.tally(ctx, points, 0, a.Trials, a.On, true)
	if err != nil {
		return err
	}
	for i, p := range points {
		answer.Rows = append(answer.Rows, a.judge(answer, p, tallies[i]))
	}
	if err := a.hazards(ctx, answer); err != nil {
		return err
	}
	answer.Interrupted = ctx.Err() != nil
	answer.Settle()
	return nil
}

// points are the trials' places: each crash with each TTL.
func (a *Asker) points() []Point {
	var points []Point
	for _, crash := range a.Crashes {
		for _, ttl := range a.TTLs {
			p := Point{Persistence: persistenceAfter(a.Redis, crash), Crash: crash, TTL: ttl,
				Delay: a.Policy.Returns[crash].After, Guard: a.Guard, WaitAOF: a.WaitAOF}
			if kinds.RealTime(a.On) {
				if p.Redis = a.Redis.Own(); a.Redis.Lost[crash] != "" {
					p.Redis["appendonly"], p.Redis["save"] = "no", `""`
				}
			}
			points = append(points, p)
		}
	}
	return points
}

// unknown are the directives that nobody has vouched for.
func (q Question) unknown() []settings.Directive {
	var unknown []settings.Directive
	for _, d := range q.Redis.Unknown {
		if !slices.Contains(q.Ignore, d.Name) {
			unknown = append(unknown, d)
		}
	}
	return unknown
}

// judge gives a row its verdict and the reason.
func (a *Asker) judge(answer *Answer, p Point, t Tally) Row {
	r := Row{Point: p, Return: a.Policy.Returns[p.Crash], Tally: t}
	for _, remark := range answer.Remarks {
		over := p.Guard || p.Delay >= Boundary(p.TTL, a.Drift) // so that it does not matter what a node remembers
		if slices.Contains(remark.Doubts, p.Crash) && !(remark.Data && over) {
			r.Doubts = append(r.Doubts, remark)
		}
	}
	switch {
	case t.Violated > 0 && r.Return.Unsure != "":
		r.Verdict, r.Reason = Inconclusive, "unsafe if the node is back as soon as it seems, but "+r.Return.Unsure+": give --restart-delay"
	case t.Violated > 0 && a.Redis.Unread != "":
		r.Verdict, r.Reason = Inconclusive, "unsafe by what was read, but "+a.Redis.Unread
	case t.Violated > 0:
		r.Verdict, r.Reason = Unsafe, a.whyUnsafe(p, r.Return)
	case t.Failed > 0:
		r.Verdict, r.Reason = Inconclusive, "the harness failed: "+t.Why
	case t.Decided() == 0:
		r.Verdict, r.Reason = Inconclusive, "no trial decided: "+t.Why
	case t.Inconclusive > 0:
		r.Verdict, r.Reason = Inconclusive, fmt.Sprintf("%d of %d trials decided nothing: %s",
			t.Inconclusive, t.Decided()+t.Inconclusive, t.Why)
	case t.Decided() < a.Trials:
		r.Verdict, r.Reason = Inconclusive, fmt.Sprintf("cut short after %d of %d trials", t.Decided(), a.Trials)
	case len(r.Doubts) > 0:
		r.Verdict, r.Reason = Inconclusive, fmt.Sprintf("no violation, but %s: %s", r.Doubts[0].Place, r.Doubts[0].What)
	case len(answer.Unknown) > 0:
		d := answer.Unknown[0]
		r.Verdict, r.Reason = Inconclusive, fmt.Sprintf("no violation, but %s: it is not known whether %s matters "+
			"(--ignore %s if you know that it does not)", d.Place, d.Name, d.Name)
	default:
		r.Verdict, r.Reason = Safe, a.whySafe(p)
	}
	return r
}

// whyUnsafe says in one sentence how a lock is given away.
func (a *Asker) whyUnsafe(p Point, r settings.Return) string {
	back := "back at once"
	if p.Delay > 0 {
		back = fmt.Sprintf("back after %s, before the %s of the TTL are over", p.Delay, p.TTL)
	}
	why := forgets(p.Persistence, p.Crash)
	if lost := a.Redis.Lost[p.Crash]; lost != "" {
		why = lost + ", so the lock is forgotten"
	}
	return fmt.Sprintf("%s; the node is %s (%s)", why, back, r.Why)
}

// forgets says why a server has forgotten a lock.
func forgets(p cluster.Persistence, crash settings.Crash) string {
	switch {
	case p == cluster.PersistNone:
		return "nothing is written to disk, so the lock is forgotten"
	case p == cluster.PersistRDB:
		return "the last snapshot is older than the lock, so the lock is forgotten"
	case p == cluster.PersistNo:
		return "appendfsync no leaves the lock in the page cache, and a power loss takes it"
	case p == cluster.PersistEverysec:
		return "appendfsync everysec syncs once a second, and a power loss takes the locks since then"
	}
	return fmt.Sprintf("a lock was forgotten in a %s although the settings say otherwise", crash)
}

// whySafe says in one sentence why a lock survives, or no longer matters.
func (a *Asker) whySafe(p Point) string {
	if p.WaitAOF && p.Crash == settings.PowerLoss && p.Persistence == cluster.PersistEverysec {
		return "a lock counts once the append-only file that has it is synced (WAITAOF); an extension needs a WAITAOF of its own, and is " +
			"not tried"
	}
	if Forgets(p.Persistence, p.Crash) {
		return fmt.Sprintf("the node forgets, and is back after %s, when every lock of %s has expired (%s with a drift of %g %%)",
			p.Delay, p.TTL, Boundary(p.TTL, a.Drift), a.Drift*100)
	}
	switch {
	case p.Crash == settings.Kill:
		return "each lock is written before it is answered, and the page cache outlives the process"
	case p.Crash == settings.Shutdown && p.Persistence == cluster.PersistRDB:
		return "SHUTDOWN saves a snapshot, since there are save points"
	case p.Crash == settings.Shutdown:
		return "SHUTDOWN writes and syncs the append-only file"
	}
	return "appendfsync always syncs each lock before it is answered"
}

// The hazards.
const (
	Eviction      = "eviction"
	RewriteHazard = "power-loss during a rewrite"
)

// hazards are ways to lose a lock that need no restart policy to be told. They
// are measured on real servers; virtual time does not model them.
func (a *Asker) hazards(ctx context.Context, answer *Answer) error {
	if a.Redis.Evicts() {
		h := Hazard{Name: Eviction,
			Reason: fmt.Sprintf("with maxmemory-policy %s a full node may evict a lock before it expires",
				a.Redis.MaxMemoryPolicy)}
		h.Place, _ = a.Redis.At("maxmemory-policy")
		if err := a.hazard(ctx, answer, h, "eviction"); err != nil {
			return err
		}
	}
	// Redis then skips the fsync while any child is at work, a snapshot's too
	// (flushAppendOnlyFile in aof.c).
	rewrites := a.Redis.RewritePercentage > 0 || len(a.Redis.Save) > 0
	if PersistenceOf(a.Redis) == cluster.PersistAlways && a.Redis.NoFsyncOnRewrite && rewrites &&
		slices.Contains(a.Crashes, settings.PowerLoss) &&
		a.Policy.Returns[settings.PowerLoss].After < Boundary(a.Longest(), a.Drift) {
		h := Hazard{Name: RewriteHazard,
			Reason: "with no-appendfsync-on-rewrite yes, appendfsync always does not sync while the file is " +
				"rewritten or a snapshot saved"}
		h.Place, _ = a.Redis.At("no-appendfsync-on-rewrite")
		return a.hazard(ctx, answer, h, "aof-always-rewrite")
	}
	return nil
}

// hazardTrials is how often a hazard is tried: its scenario shows it every time.
const hazardTrials = 3

// hazard runs the catalogue's scenario that shows a hazard, where it can be run.
func (a *Asker) hazard(ctx context.Context, answer *Answer, h Hazard, scenario string) error {
	h.Verdict = Inconclusive
	if !kinds.RealTime(a.On) {
		h.Reason += "; virtual time does not model it: --on local measures it"
		answer.Hazards = append(answer.Hazards, h)
		return nil
	}
	job, err := catalogueJob(scenario)
	if err != nil {
		return err
	}
	a.stage("%s", h.Name)
	if h.Name == Eviction {
		// The operator's policy, with so little memory that it is soon full.
		job.Scenario.Redis = map[string]string{"maxmemory": "4mb", "maxmemory-policy": a.Redis.MaxMemoryPolicy}
	}
	for n := range hazardTrials {
		trials, err := a.run(ctx, []suite.Job{job}, a.Seed+uint64(n), a.On, n == 0)
		if err != nil {
			return err
		}
		for _, t := range trials {
			h.Tally.count(t, "mutual-exclusion")
		}
	}
	switch {
	case h.Tally.Violated > 0:
		h.Verdict = Unsafe
	case h.Tally.Decided() == 0:
		h.Reason += "; no trial decided: " + h.Tally.Why
	default:
		h.Reason += "; it did not happen in these trials"
	}
	answer.Hazards = append(answer.Hazards, h)
	return nil
}

// measuredGap names the checker's measure of the longest time without a grant.
const measuredGap = "longest_gap"

// Availability measures how long nobody gets the lock when a majority of the
// nodes goes down at once, for each crash, with the longest TTL.
func (a *Asker) Availability(ctx context.Context, answer *Answer) error {
	a.stage("a majority down")
	for _, p := range a.points() {
		if p.TTL != a.Longest() {
			continue
		}
		job, err := p.majority(a.Drift)
		if err != nil {
			return err
		}
		trials, err := a.run(ctx, []suite.Job{job}, a.Seed, suite.Virtual, false)
		if err != nil {
			return err
		}
		for _, t := range trials {
			for _, r := range t.Results {
				if gap, ok := r.Measured[measuredGap]; ok {
					answer.Gaps = append(answer.Gaps, Gap{p.Crash, p.TTL, time.Duration(gap)})
				}
			}
		}
	}
	return nil
}
