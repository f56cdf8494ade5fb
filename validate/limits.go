package validate

import (
	"context"
	"fmt"
	"time"

	"lockproof/checker"
	"lockproof/harness/cluster"
	"lockproof/harness/history"
	"lockproof/harness/suite"
	"lockproof/nemesis"
	"lockproof/scenarios"
)

// Limit is how much of something a lock bears: the most that showed no
// violation, and the least that did.
type Limit struct {
	What string        `json:"what"`
	TTL  time.Duration `json:"ttl"` // nanoseconds
	// Held and Violated enclose the limit; Predicted is what the rule promises.
	// In a clock's error they are shares (0.01: one percent), in a pause
	// nanoseconds.
	Held      float64 `json:"held"`
	Violated  float64 `json:"violated"`
	Predicted float64 `json:"predicted"`
	Trials    int     `json:"trials"`
	Why       string  `json:"why,omitempty"` // why there is no limit to tell
}

// clockMargin is what the reference sets aside for clocks beside the drift
// factor: Redis counts expiry in milliseconds (redlock's options).
const clockMargin = 2 * time.Millisecond

// halvings narrow a range to a part in 256.
const halvings = 8

// search halves a range in which low holds and high is violated.
func (a *Asker) search(ctx context.Context, l Limit, property string, low, high float64,
	job func(x float64) (suite.Job, error)) (Limit, error) {
	for step := -1; step < halvings; step++ {
		x := (low + high) / 2
		if step < 0 {
			x = high // else there is nothing to enclose
		}
		j, err := job(x)
		if err != nil {
			return l, err
		}
		trials, err := a.repeat(ctx, j, 2)
		if err != nil {
			return l, err
		}
		var t Tally
		for _, trial := range trials {
			t.count(trial, property)
		}
		l.Trials += t.Decided()
		if l.Why = undecided(ctx, t); l.Why != "" {
			return l, nil
		}
		switch {
		case t.Violated > 0:
			high = x
		case step < 0:
			l.Why = "nothing showed a violation"
			return l, nil
		default:
			low = x
		}
	}
	l.Held, l.Violated = low, high
	return l, nil
}

// Drifts finds how large an error of a clock's rate the drift factor covers: of
// the nodes, which run fast, and of the holder, which runs slow.
func (a *Asker) Drifts(ctx context.Context) ([]Limit, error) {
	var all []Limit
	for _, ttl := range a.TTLs {
		a.stage("clock errors at a TTL of %s", ttl)
		spare := a.Drift + float64(clockMargin)/float64(ttl)
		for _, who := range []struct {
			what      string
			targets   []string
			sign      float64
			predicted float64
		}{
			// The nodes' keys last TTL/(1+e), the lease TTL(1-d)-2ms.
			{"the nodes' clocks run fast", []string{"n1", "n2", "n3"}, 1, 1/(1-spare) - 1},
			// The lease lasts (TTL(1-d)-2ms)/(1-e), the keys TTL.
			{"the holder's clock runs slow", []string{"c1"}, -1, spare},
		} {
			l, err := a.search(ctx, Limit{What: who.what, TTL: ttl, Predicted: who.predicted}, checker.MutualExclusion,
				0, min(2.5*spare, 0.5),
				func(e float64) (suite.Job, error) { return a.clocks(ttl, who.targets, 1+who.sign*e) })
			if err != nil {
				return all, err
			}
			all = append(all, l)
		}
	}
	return all, nil
}

// clocks makes a trial in which c2 asks for c1's lock again and again while it
// runs out, and clocks are wrong.
func (a *Asker) clocks(ttl time.Duration, who []string, rate float64) (suite.Job, error) {
	s, err := a.pair(fmt.Sprintf("clock-%s-rate-%g", who[0], rate), ttl)
	if err != nil {
		return suite.Job{}, err
	}
	// c2 begins a little before the first key can be gone.
	expiry := time.Duration(float64(ttl) / max(rate, 1))
	early := expiry - ttl/250 - 3*time.Millisecond
	s.Script = []scenarios.Step{
		{Verb: nemesis.Clock, Targets: who, Rate: rate},
		{Verb: scenarios.VerbAcquire, Targets: []string{"c1"}, Key: lockKey, Must: "ok"},
		{Verb: scenarios.VerbWait, Wait: scenarios.Span{Fixed: max(early, 0)}},
		{Verb: scenarios.VerbAcquire, Targets: []string{"c2"}, Key: lockKey, Must: "ok", Within: scenarios.Span{TTLs: 2}},
	}
	s.Expect = map[string]string{checker.MutualExclusion: history.Holds}
	return suite.Job{Scenario: s}, nil
}

// pair is a scenario of two clients that reach the same three nodes and ask often.
func (a *Asker) pair(name string, ttl time.Duration) (*scenarios.Scenario, error) {
	base, err := row()
	if err != nil {
		return nil, err
	}
	s := *base
	s.Name, s.TTL, s.Persistence = name, ttl, cluster.PersistNone
	s.Clients = []scenarios.Client{{Name: "c1", Reach: []string{"n1", "n2", "n3"}}, {Name: "c2", Reach: []string{"n1", "n2", "n3"}}}
	drift := a.Drift
	s.Lock = scenarios.Lock{Drift: &drift, RetryMin: scenarios.Span{TTLs: 0.0005, Fixed: 200 * time.Microsecond},
		RetryMax: scenarios.Span{TTLs: 0.001, Fixed: 400 * time.Microsecond}}
	return &s, nil
}

// Pauses finds how long a client may stall between the check of its deadline and
// its write, when it checks with so much of the TTL left.
func (a *Asker) Pauses(ctx context.Context) ([]Limit, error) {
	var all []Limit
	for _, ttl := range a.TTLs {
		a.stage("pauses at a TTL of %s", ttl)
		for _, left := range []float64{0.9, 0.5, 0.1} {
			l := Limit{What: fmt.Sprintf("checked with %g %% of the TTL left", left*100), TTL: ttl, Predicted: left * float64(ttl)}
			l, err := a.search(ctx, l, checker.ProtectedData, 0, 1.5*float64(ttl),
				func(pause float64) (suite.Job, error) { return a.pause(ttl, left, time.Duration(pause)) })
			if err != nil {
				return all, err
			}
			all = append(all, l)
		}
	}
	return all, nil
}

// pause makes a trial in which c1 checks its deadline, is stopped for a while,
// and writes; c2 writes as soon as it has the lock.
func (a *Asker) pause(ttl time.Duration, left float64, stall time.Duration) (suite.Job, error) {
	s, err := a.pair(fmt.Sprintf("pause-%s-with-%g-left", stall, left), ttl)
	if err != nil {
		return suite.Job{}, err
	}
	c1, c2 := []string{"c1"}, []string{"c2"}
	s.Script = []scenarios.Step{
		{Verb: scenarios.VerbAcquire, Targets: c1, Key: lockKey, Must: "ok"},
		{Verb: scenarios.VerbRead, Targets: c1, Key: lockKey, Must: "ok"},
		{Verb: scenarios.VerbWait, Wait: scenarios.Span{TTLs: 1 - left}},
		{Verb: scenarios.VerbCheck, Targets: c1, Must: "ok"},
		{Verb: nemesis.Pause, Targets: c1, For: scenarios.Span{Fixed: max(stall, time.Millisecond)}},
		{Verb: scenarios.VerbWrite, Targets: c1, Key: lockKey, Async: true},
		wait(time.Duration(left*float64(ttl)) - ttl/250), // until shortly before c1's keys expire
		{Verb: scenarios.VerbAcquire, Targets: c2, Key: lockKey, Must: "ok"},
		{Verb: scenarios.VerbRead, Targets: c2, Key: lockKey, Must: "ok"},
		{Verb: scenarios.VerbWrite, Targets: c2, Key: lockKey, Must: "ok"},
		{Verb: scenarios.VerbAwait, Targets: c1},
	}
	s.Expect = map[string]string{checker.ProtectedData: history.Holds}
	return suite.Job{Scenario: s}, nil
}
