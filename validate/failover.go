package validate

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
	"example.org/lockproof/validate/deploy"
	"example.org/lockproof/validate/settings"
)

// Takeover is a way for a replica to become the master.
type Takeover string

// The takeovers.
const (
	MasterDies Takeover = "failover"        // the master dies, and a replica is promoted
	ByHand     Takeover = "manual-failover" // a replica is promoted while its master lives: an upgrade, a pod that moves
	TwoMasters Takeover = "two-masters"     // the master is cut off from its replicas, with some of its clients
)

// Takeovers lists them all.
var Takeovers = []Takeover{MasterDies, ByHand, TwoMasters}

// TakeoverRow is the result for one takeover and one TTL.
type TakeoverRow struct {
	Takeover Takeover      `json:"takeover"`
	TTL      time.Duration `json:"ttl"`   // nanoseconds
	After    time.Duration `json:"after"` // from the master's silence to the promotion, nanoseconds
	Verdict  Verdict       `json:"verdict"`
	Reason   string        `json:"reason"` // one sentence
	Tally    Tally         `json:"trials"`
}

// judgeTakeovers runs the question's takeovers for one master: several masters fail over independently.
func (a *Runner) judgeTakeovers(ctx context.Context, answer *Answer) error {
	if a.Failover == nil {
		return nil
	}
	a.Stage("takeovers by a replica")
	var rows []TakeoverRow
	for _, kind := range a.Takeovers {
		for _, ttl := range a.TTLs {
			row := TakeoverRow{Takeover: kind, TTL: ttl}
			if kind != ByHand {
				row.After = a.Failover.After
			}
			if kind == ByHand || !a.Failover.Never { // otherwise no replica is ever promoted
				rows = append(rows, row)
			}
		}
	}
	job := func(i, n int) (suite.Job, error) { return a.takeover(rows[i], n), nil }
	counts, err := a.tally(ctx, a.Trials, len(rows), job)
	for i := range counts {
		rows[i].Tally = counts[i]
		answer.Takeovers = append(answer.Takeovers, a.judgeTakeover(rows[i]))
	}
	return err
}

func (a *Runner) judgeTakeover(r TakeoverRow) TakeoverRow {
	t, unsettled := r.Tally, a.Server.Unsettled(settings.Kill)
	r.Verdict = Inconclusive
	switch {
	case t.Violated > 0 && len(unsettled) > 0 && r.Takeover == TwoMasters: // min-replicas-to-write might help
		r.Reason = "unsafe by what was read, but " + unsettled[0].String()
	case t.Violated > 0:
		r.Verdict, r.Reason = Unsafe, a.whyTakeoverUnsafe(r)
	case t.undecided(a.Trials) != "":
		r.Reason = t.undecided(a.Trials)
	case len(unsettled) > 0:
		r.Reason = unsettled[0].String()
	case a.countsOnReplicas(r) && a.Failover.Uncounted != "":
		r.Reason = fmt.Sprintf("no violation if there are %d replicas and no more, but %s: give --replicas",
			a.Failover.Replicas, a.Failover.Uncounted)
	case a.countsOnReplicas(r) && a.WaitAOF && a.doubtsWAITAOF() != "":
		r.Reason = a.doubtsWAITAOF()
	default:
		r.Verdict, r.Reason = Safe, a.whyTakeoverSafe(r)
	}
	return r
}

// countsOnReplicas reports whether a safe verdict depends on the number of replicas. A replica
// that was not counted may be promoted without the lock, or let a cut-off master keep granting.
// After a master's death neither matters once every lock has expired.
func (a *Runner) countsOnReplicas(r TakeoverRow) bool {
	return r.Takeover != MasterDies || r.After < Boundary(r.TTL, a.Drift)
}

func (a *Runner) doubtsWAITAOF() string {
	return cmp.Or(a.Server.DoubtsWAITAOF(), a.Failover.DoubtsWAITAOF())
}

func (a *Runner) whyTakeoverUnsafe(r TakeoverRow) string {
	why := "the master answers before its replicas have the lock"
	if a.Wait > 0 {
		why = fmt.Sprintf("%s leaves one of %d replicas without the lock", a.waitCommand(), a.Failover.Replicas)
	}
	why += map[Takeover]string{ByHand: ", and the one that is promoted, which its master does not hear of, need " +
		"not have it",
		TwoMasters: fmt.Sprintf(", and one that it cannot reach is promoted (%s) while it still grants locks",
			promotion(r, a.Failover)),
		MasterDies: fmt.Sprintf(", and one that lacks it is promoted (%s)", promotion(r, a.Failover))}[r.Takeover]
	if a.Server.Redis.MinReplicas > 0 && r.Takeover != ByHand {
		why += fmt.Sprintf("; min-replicas-to-write stops it only when their word is %d s old", a.Server.Redis.MinLag)
	}
	return why
}

func promotion(r TakeoverRow, f *deploy.Failover) string {
	if r.After == 0 {
		return f.Why
	}
	return fmt.Sprintf("after %s: %s", r.After, f.Why)
}

func (a *Runner) whyTakeoverSafe(r TakeoverRow) string {
	switch {
	case a.Wait >= a.Failover.Replicas && a.countsOnReplicas(r):
		command, _, _ := strings.Cut(a.waitCommand(), " ")
		return fmt.Sprintf("a lock counts once %s (%s), so that whichever is promoted has it; "+
			"an extension needs a %s of its own, and is not tried", a.acknowledged(), a.waitCommand(), command)
	case r.Takeover == TwoMasters:
		return fmt.Sprintf("the master grants nothing once its replicas' word is %d s old, and one is promoted after %s, "+
			"when what it granted before has expired", a.Server.Redis.MinLag, r.After)
	}
	return fmt.Sprintf("a replica is promoted after %s, when every lock of %s has expired", r.After, r.TTL)
}

func (a *Runner) waitCommand() string {
	if a.WaitAOF {
		return fmt.Sprintf("WAITAOF 1 %d", a.Wait)
	}
	return fmt.Sprintf("WAIT %d", a.Wait)
}

func (a *Runner) acknowledged() string {
	replicas, have := fmt.Sprintf("all %d replicas", a.Failover.Replicas), "have"
	if a.Failover.Replicas == 1 {
		replicas, have = "the replica", "has"
	}
	if a.WaitAOF {
		return "its server and " + replicas + " have it on disk"
	}
	return replicas + " " + have + " acknowledged it"
}

// replicaDelay is the one-way delay of a replica that is promoted by hand. It must exceed the time that
// a real server takes for a promotion, but let a lock with WAIT get its acknowledgement.
func (a *Runner) replicaDelay(ttl time.Duration) time.Duration {
	if a.Wait > 0 {
		return 5 * time.Millisecond
	}
	return ttl / 10
}

// takeover makes the crashMoment trial of a row. The clients' clocks are right, as a lock on one master
// need not allow for drift; the Sentinels' clock runs fast.
func (a *Runner) takeover(r TakeoverRow, n int) suite.Job {
	f, none := a.Failover, 0
	s := &scenarios.Scenario{
		Name: fmt.Sprintf("%s-ttl-%s-%d", r.Takeover, r.TTL, n),
		Title: fmt.Sprintf("%s, promoted after %s, TTL %s, %s of %d", r.Takeover, r.After, r.TTL, a.waitCommand(),
			f.Replicas),
		TTL: r.TTL, Nodes: []string{"n1"}, Replicas: map[string]string{}, On: cluster.Names(),
		Persistence: persistenceOf(a.Server.Redis), Redis: map[string]string{},
		Lock: scenarios.Lock{Name: "single", RetryMin: scenarios.Span{TTLs: 0.2}, RetryMax: scenarios.Span{TTLs: 0.4},
			Settings: locks.Settings{Wait: a.Wait, WaitAOF: a.WaitAOF, Connection: locks.ConnectionOne}},
		// After the takeover there is no replica left to wait for.
		Clients: []scenarios.Client{{Name: "c1"}, {Name: "c2", Nodes: []string{"r1"}, Wait: &none}},
		Expect:  map[string]string{checker.MutualExclusion: history.Holds},
		// c1's first lock shows that locks are available, and c2's that the promoted replica grants one.
		Earned: scenarios.Earned{Grants: atLeast(2), Contended: atLeast(0), Refused: atLeast(0)},
	}
	for i := range f.Replicas {
		s.Replicas[fmt.Sprintf("r%d", i+1)] = "n1"
	}
	if a.Server.Redis.MinReplicas > 0 {
		s.Redis[cluster.MinReplicas], s.Redis[cluster.MinLag] = strconv.Itoa(a.Server.Redis.MinReplicas),
			strconv.Itoa(a.Server.Redis.MinLag)
	}
	s.Script = append(s.Script,
		granted(acquire("c1", "k2", scenarios.Span{})), step(scenarios.VerbAwaitSync, replicas(s)...))
	if a.WaitAOF {
		s.Lock.NodeTimeout = diskTimeout(s.Persistence, r.TTL)
	}
	steps := map[Takeover]func(*scenarios.Scenario, TakeoverRow, int) []scenarios.Step{
		MasterDies: a.masterDies, ByHand: a.byHand, TwoMasters: a.twoMasters}[r.Takeover]
	s.Script = append(s.Script, steps(s, r, n)...)
	return suite.Job{Scenario: s}
}

func replicas(s *scenarios.Scenario) []string {
	var names []string
	for i := range len(s.Replicas) {
		names = append(names, fmt.Sprintf("r%d", i+1))
	}
	return names
}

// c1Acquires is the lock that a takeover may lose. Without its grant the trial shows nothing, unless a missing grant is
// what keeps the lock safe: it waits for replicas, or the master refuses it.
func (a *Runner) c1Acquires(s *scenarios.Scenario) scenarios.Step {
	c1 := acquire("c1", lockKey, scenarios.Span{TTLs: 0.1, Fixed: s.Lock.NodeTimeout.Fixed})
	if a.Wait > 0 || a.Server.Redis.MinReplicas > 0 {
		return c1
	}
	return granted(c1)
}

func c2Acquires(s *scenarios.Scenario) scenarios.Step {
	return granted(acquire("c2", lockKey, scenarios.Span{TTLs: 2.5, Fixed: s.Lock.NodeTimeout.Fixed}))
}

var promoteR1 = step(nemesis.Promote, "r1")

// masterDies cuts off the replica that will be promoted, c1 acquires the lock, and the master
// dies at once or later in the lease.
func (a *Runner) masterDies(s *scenarios.Scenario, r TakeoverRow, n int) []scenarios.Step {
	steps := []scenarios.Step{step(nemesis.Cut, "r1-n1")}
	if n > 0 {
		steps = append(steps, wait(time.Duration(vanDerCorput(n, 2)*float64(a.cutLimit()))))
	}
	steps = append(steps, a.c1Acquires(s))
	if n > 0 {
		steps = append(steps, wait(time.Duration(lastCrash*vanDerCorput(n, 3)*float64(r.TTL))))
	}
	steps = append(steps, step(nemesis.Kill, "n1"))
	if r.After > 0 {
		steps = append(steps, wait(a.byFastClock(r.After)))
	}
	return append(steps, promoteR1, c2Acquires(s))
}

// byHand promotes a replica while its master lives: right after c1's grant, or before it.
func (a *Runner) byHand(s *scenarios.Scenario, r TakeoverRow, n int) []scenarios.Step {
	if n%2 == 0 {
		late := step(nemesis.Delay, "r1-n1")
		late.By.Fixed = a.replicaDelay(r.TTL)
		return []scenarios.Step{late, a.c1Acquires(s), promoteR1, c2Acquires(s)}
	}
	return append([]scenarios.Step{promoteR1}, wait(time.Duration(vanDerCorput(n, 3)*float64(time.Second))),
		a.c1Acquires(s), c2Acquires(s))
}

// twoMasters cuts off the master, with c1 on its side, and promotes a replica on c2's side. Other
// replicas are on the master's side, where they acknowledge its writes, or on neither. c1
// acquires before or after the promotion.
func (a *Runner) twoMasters(s *scenarios.Scenario, r TakeoverRow, n int) []scenarios.Step {
	var cuts []string // c1 never uses r1, nor c2 n1
	for i, name := range replicas(s) {
		if i > 0 && n%2 == 0 { // on the master's side
			continue
		}
		cuts = append(cuts, name+"-n1")
	}
	steps := []scenarios.Step{step(nemesis.Cut, cuts...)}
	promoted, acquireAt := a.byFastClock(r.After), time.Duration(vanDerCorput(n, 2)*float64(r.After+r.TTL))
	switch {
	case n == 0:
		acquireAt = promoted + time.Millisecond
	case n == 1 && a.Server.Redis.MinReplicas > 0: // shortly before the master refuses writes
		acquireAt = max(time.Duration(a.Server.Redis.MinLag)*time.Second-100*time.Millisecond, 0)
	}
	if acquireAt < promoted {
		return append(steps, wait(acquireAt), a.c1Acquires(s), wait(promoted-acquireAt), promoteR1, c2Acquires(s))
	}
	if promoted > 0 {
		steps = append(steps, wait(promoted))
	}
	return append(steps, promoteR1, wait(acquireAt-promoted), a.c1Acquires(s), c2Acquires(s))
}

// byFastClock is the true duration of a delay that a fast clock measures.
func (a *Runner) byFastClock(after time.Duration) time.Duration {
	return time.Duration(float64(after) / (1 + a.Drift))
}

// cutLimit is the longest time from the replica's cut to c1's acquire: longer than the master
// grants locks without its replica, if min-replicas-to-write is set.
func (a *Runner) cutLimit() time.Duration {
	if a.Server.Redis.MinReplicas > 0 {
		return time.Duration(a.Server.Redis.MinLag+2) * time.Second
	}
	return time.Second
}
