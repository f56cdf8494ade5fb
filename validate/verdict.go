package validate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/scenarios"
	"example.org/lockproof/validate/deploy"
	"example.org/lockproof/validate/settings"
)

// Judge runs the trials of the question and fills in the answer. An interrupted
// answer is marked as such.
func (a *Runner) Judge(ctx context.Context, answer *Answer) error {
	answer.Question, answer.Server = a.Question, a.Server
	a.Stage("crashes under your settings")
	points := a.points()
	if err := a.judgeTakeovers(ctx, answer); err != nil {
		return err
	}
	job := func(i, n int) (suite.Job, error) { return points[i].job(n, a.Drift) }
	tallies, err := a.tally(ctx, a.Trials, len(points), job)
	if err != nil {
		return err
	}
	for i, p := range points {
		answer.Rows = append(answer.Rows, a.judge(p, tallies[i]))
	}
	if err := a.hazards(ctx, answer); err != nil {
		return err
	}
	answer.Assumptions = append(answer.Assumptions, a.assumptions()...)
	answer.Interrupted = ctx.Err() != nil
	answer.Settle()
	return nil
}

// assumptions are those of every safe verdict that no file can confirm.
func (a *Runner) assumptions() []deploy.Link {
	clients := deploy.Link{Name: deploy.Alone, State: deploy.Assumed,
		What: "nobody runs FLUSHALL, CONFIG SET, DEBUG or SHUTDOWN NOSAVE, or deletes the lock, the server's data or their " +
			"volume"}
	clocks := deploy.Link{Name: deploy.Restart, State: deploy.Assumed,
		What: fmt.Sprintf("clocks err by %g %% at most; no TTL is longer than %s", a.Drift*100, a.Longest())}
	all := append(a.Server.Assumptions(), clients, clocks)
	pause := a.Server.Returns[settings.Kill].After
	if pause > a.Server.Returns[settings.Shutdown].After && pause >= Boundary(slices.Min(a.TTLs), a.Drift) {
		all = append(all, deploy.Link{Name: deploy.Restart, State: deploy.Assumed, What: fmt.Sprintf(
			"after a kill nobody starts the server by hand before its supervisor does, after %s", pause)})
	}
	return all
}

func (a *Runner) points() []Point {
	var points []Point
	for _, crash := range a.Crashes {
		for _, ttl := range a.TTLs {
			p := Point{Persistence: persistenceAfter(a.Server, crash), Crash: crash, TTL: ttl,
				Delay: a.Server.Returns[crash].After, Guard: a.Guard, WaitAOF: a.WaitAOF}
			if cluster.RealTime(a.On) {
				if p.Redis = a.Server.Redis.Own(); a.Server.Lost(crash) != "" {
					p.Redis["appendonly"], p.Redis["save"] = "no", `""`
				}
			}
			points = append(points, p)
		}
	}
	return points
}

// judge gives a row its verdict and the reason. It is safe only if no trial lost the lock and no link of the chain is
// broken for the crash.
func (a *Runner) judge(p Point, t Tally) Row {
	r := Row{Point: p, Return: a.Server.Returns[p.Crash], Tally: t, Verdict: Inconclusive}
	expired := a.expired(p.Crash, p.TTL)
	broken, unsettled := a.Server.Broken(p.Crash, expired), a.Server.Unsettled(p.Crash)
	switch {
	case t.Violated > 0 && len(unsettled) > 0:
		r.Link, r.Reason = &unsettled[0], unsettled[0].String()
	case t.Violated > 0:
		r.Verdict, r.Reason = Unsafe, a.whyUnsafe(p, r.Return)
	case t.undecided(a.Trials) != "":
		r.Reason = t.undecided(a.Trials)
	case len(broken) > 0:
		r.Link, r.Reason = &broken[0], broken[0].String()
	case Forgets(p.Persistence, p.Crash) && !expired && !p.synced():
		r.Reason = "no trial lost the lock, but " + a.whyUnsafe(p, r.Return)
	case Forgets(p.Persistence, p.Crash) && !expired && a.Server.DoubtsWAITAOF() != "":
		r.Reason = a.Server.DoubtsWAITAOF()
	default:
		r.Verdict, r.Reason = Safe, a.whySafe(p)
		if p.Crash != settings.PowerLoss && p.Persistence == cluster.PersistEverysec && !expired {
			r.Condition = everysec
		}
	}
	return r
}

// expired reports whether every lock of a TTL has expired before the server votes again, so that it may forget.
func (a *Runner) expired(crash settings.Crash, ttl time.Duration) bool {
	return a.Guard || a.Server.Returns[crash].After >= Boundary(ttl, a.Drift)
}

// synced reports whether a grant waits for the sync of the server's append-only file.
func (p Point) synced() bool { return p.WaitAOF && p.Persistence == cluster.PersistEverysec }

// everysec is the condition of a kill under appendfsync everysec. While a background fsync runs, Redis replies but
// postpones the write for up to two seconds (flushAppendOnlyFile in aof.c). Killed right after OK, it lost none of 15
// locks with an undelayed fdatasync, and 1 of 110 where each took 10 ms.
const everysec = "unless an fsync runs just then: Redis then answers first, for up to 2 s"

func (a *Runner) whyUnsafe(p Point, r deploy.Return) string {
	back := "is back at once"
	if p.Delay > 0 {
		back = fmt.Sprintf("is back after %s, before the TTL of %s is over", p.Delay, p.TTL)
	}
	why := forgets(p.Persistence, p.Crash)
	if lost := a.Server.Lost(p.Crash); lost != "" {
		why = lost
	}
	return fmt.Sprintf("%s; the server %s (%s)", why, back, r.Why)
}

func forgets(p cluster.Persistence, crash settings.Crash) string {
	switch {
	case p == cluster.PersistNone:
		return "nothing is written to disk"
	case p == cluster.PersistRDB:
		return "the last snapshot is older than the lock"
	case p == cluster.PersistNo:
		return "appendfsync no leaves the lock in the page cache, and a power loss takes it"
	case p == cluster.PersistEverysec:
		return "appendfsync everysec loses the last second and the fsync under way"
	}
	return fmt.Sprintf("a lock was forgotten in a %s although the settings say otherwise", crash)
}

func (a *Runner) whySafe(p Point) string {
	if p.Guard {
		return fmt.Sprintf("a restarted server has no vote until every lock of %s has expired (--restart-guard)", p.TTL)
	}
	if p.synced() && p.Crash == settings.PowerLoss {
		return "a lock counts once the append-only file that has it is synced (WAITAOF); an extension needs a WAITAOF of " +
			"its own, and is not tried"
	}
	if Forgets(p.Persistence, p.Crash) || p.Persistence == cluster.PersistRDB {
		return fmt.Sprintf("the server forgets, and is back after %s, when every lock of %s has expired (%s with a "+
			"drift of %g %%)",
			p.Delay, p.TTL, Boundary(p.TTL, a.Drift), a.Drift*100)
	}
	switch {
	case p.Crash != settings.PowerLoss && p.Persistence == cluster.PersistAlways:
		return "each lock is written and synced before it is answered"
	case p.Crash != settings.PowerLoss:
		return "each lock is written before it is answered, however the server is stopped"
	}
	return "appendfsync always syncs each lock before it is answered"
}

// The hazards.
const (
	Eviction      = "eviction"
	RewriteHazard = "power-loss during a rewrite"
)

// hazards adds the ways to lose a lock that are judged without a restart policy. They
// are measured on real servers; virtual time does not model them.
func (a *Runner) hazards(ctx context.Context, answer *Answer) error {
	redis := a.Server.Redis
	if redis.Evicts() {
		h := Hazard{Name: Eviction, ID: "LP005",
			Reason: fmt.Sprintf("with maxmemory-policy %s a full node may evict a lock before it expires",
				redis.MaxMemoryPolicy)}
		h.Place = redis.At("maxmemory-policy")
		if err := a.hazard(ctx, answer, h, "eviction"); err != nil {
			return err
		}
	}
	// Redis skips the fsync while any child works, also for a snapshot or a replica's full sync (flushAppendOnlyFile in
	// aof.c).
	if persistenceOf(redis) != cluster.PersistAlways || !redis.NoFsyncOnRewrite ||
		!slices.Contains(a.Crashes, settings.PowerLoss) || a.expired(settings.PowerLoss, a.Longest()) {
		return nil
	}
	h := Hazard{Name: RewriteHazard, ID: "LP006", Place: redis.At("no-appendfsync-on-rewrite"),
		Reason: "with no-appendfsync-on-rewrite yes, appendfsync always does not sync while the file is " +
			"rewritten, a snapshot saved or a replica synchronised"}
	return a.hazard(ctx, answer, h, "aof-always-rewrite")
}

// hazardTrials is low because a hazard's scenario shows it every time.
const hazardTrials = 3

func (a *Runner) hazard(ctx context.Context, answer *Answer, h Hazard, scenario string) error {
	h.Verdict = Inconclusive
	if !cluster.RealTime(a.On) {
		h.Reason += "; virtual time does not model it: --on local measures it"
		answer.Hazards = append(answer.Hazards, h)
		return nil
	}
	s, err := catalogued(scenario)
	if err != nil {
		return err
	}
	a.Stage(h.Name)
	if h.Name == Eviction {
		// The operator's policy, with so little memory that it is soon full.
		s.Redis = map[string]string{"maxmemory": "4mb", "maxmemory-policy": a.Server.Redis.MaxMemoryPolicy}
	}
	counts, err := a.tally(ctx, hazardTrials, 1, func(int, int) (suite.Job, error) { return suite.Job{Scenario: s}, nil })
	if err != nil {
		return err
	}
	h.Tally = counts[0]
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

func catalogued(name string) (*scenarios.Scenario, error) {
	found, err := scenarios.Select([]string{name})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}
