package validate

import (
	"fmt"
	"sync"
	"time"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
	"example.org/lockproof/validate/settings"
)

// Point is one combination of settings: the server's persistence, its crash,
// its downtime and the TTL of the lock that it granted.
type Point struct {
	Persistence cluster.Persistence `json:"persistence"`
	Crash       settings.Crash      `json:"crash"`
	TTL         time.Duration       `json:"ttl"`   // nanoseconds
	Delay       time.Duration       `json:"delay"` // as the supervisor's clock counts it, nanoseconds
	// Guard: the lock has a restart guard for this TTL.
	Guard bool `json:"guard,omitempty"`
	// WaitAOF: the lock uses one server and waits for its disk by WAITAOF.
	WaitAOF bool `json:"wait_aof,omitempty"`
	// Redis has the operator's own lines of redis.conf, by name, for clusters of
	// real servers.
	Redis map[string]string `json:"-"`
}

// moment is the time of the crash within a lease.
type moment struct {
	share float64       // of the lease, from 0
	tick  time.Duration // the server's uptime at the lock's SET, less whole seconds
	// worst: the crash follows the grant at once, and everysec's immediate sync in
	// that second was for another lock.
	worst bool
}

// lastCrash is the latest crash, as a share of the lease: after a later one the
// lock expires before it can be lost.
const lastCrash = 0.9

// crashMoment spreads crashes evenly over a lease, and over the second of everysec, for
// any number of trials. The first is the worst.
func crashMoment(n int) moment {
	if n == 0 {
		return moment{tick: 300 * time.Millisecond, worst: true}
	}
	return moment{share: lastCrash * vanDerCorput(n, 2), tick: time.Duration(vanDerCorput(n, 3) * float64(time.Second))}
}

// vanDerCorput mirrors n's digits at the point: 1, 2, 3 in base 2 are 1/2, 1/4, 3/4 (van der Corput 1935).
func vanDerCorput(n, base int) float64 {
	sum, digit := 0.0, 1/float64(base)
	for ; n > 0; n /= base {
		sum += float64(n%base) * digit
		digit /= float64(base)
	}
	return sum
}

// row is the catalogue's row that every trial varies: c1 acquires the lock on
// n1, n2 and n3, n3 restarts, and c2 reaches n3, n4 and n5.
var row = sync.OnceValues(func() (*scenarios.Scenario, error) { return catalogued("restart-without-persistence") })

// guardSlack is more than a restart guard adds to the longest TTL: servers report their uptime in
// whole seconds.
const guardSlack = 4 * time.Second

// downLong is the downtime, as a share of the TTL, above which c2 also tries to
// acquire while n3 is down.
const downLong = 0.05

// job makes a trial of a point. Clocks err by the drift factor, in the harmful
// directions: the holder's runs slow, and the supervisor's, which counts the
// delay, fast.
func (p Point) job(n int, drift float64) (suite.Job, error) {
	m, name := crashMoment(n), fmt.Sprintf("%s-%s-ttl-%s-back-after-%s-%d", p.Persistence, p.Crash, p.TTL, p.Delay, n)
	base, err := row()
	if err != nil {
		return suite.Job{}, err
	}
	s := *base
	s.Name, s.TTL, s.Persistence, s.On, s.Redis = name, p.TTL, p.Persistence, cluster.Names(), p.Redis
	s.Title = fmt.Sprintf("%s under %s, back after %s, TTL %s", p.Crash, p.Persistence, p.Delay, p.TTL)
	// c2's first try after the restart counts; later ones show that it can acquire
	// the lock once it is free.
	s.Lock = scenarios.Lock{Drift: &drift, RetryMin: scenarios.Span{TTLs: 0.2}, RetryMax: scenarios.Span{TTLs: 0.4}}
	s.Expect = map[string]string{checker.MutualExclusion: history.Holds}
	s.Earned = scenarios.Earned{Grants: atLeast(2)}
	away := time.Duration(float64(p.Delay) / (1 + drift))
	if p.WaitAOF {
		p.useOneDisk(&s)
		drift = 0 // a lock on one server need not allow for it
	}
	s.Script = p.before(m, drift)
	long := away > time.Duration(downLong*float64(p.TTL))
	s.Script = append(s.Script, step(scenarios.Verb(p.Crash), "n3"))
	if long {
		early := acquire("c2", lockKey, scenarios.Span{TTLs: downLong / 2})
		early.Async = true
		s.Script = append(s.Script, early)
	}
	if away > 0 {
		s.Script = append(s.Script, wait(away))
	}
	if long {
		s.Script = append(s.Script, step(scenarios.VerbAwait, "c2"))
	}
	again := scenarios.Span{TTLs: 2.5}
	if p.Guard {
		s.Lock.Name, again.Fixed = "redlock-guarded", guardSlack
		s.Bounds = scenarios.Bounds{"free": again, "grant": again} // the guard's cost: no grants until then
	}
	s.Script = append(s.Script, step(nemesis.Start, "n3"), granted(acquire("c2", lockKey, again)))
	return suite.Job{Scenario: &s}, nil
}

// useOneDisk puts the lock on the server that will crash, and makes it wait for that server's disk.
func (p Point) useOneDisk(s *scenarios.Scenario) {
	s.Nodes, s.Clients = []string{"n3"}, []scenarios.Client{{Name: "c1"}, {Name: "c2"}}
	s.Lock.Name, s.Lock.WaitAOF, s.Lock.NodeTimeout = "single", true, diskTimeout(p.Persistence, p.TTL)
}

// diskTimeout is twice the time that WAITAOF needs: with everysec an fsync runs within a second,
// and a replica acknowledges its own within another.
func diskTimeout(p cluster.Persistence, ttl time.Duration) scenarios.Span {
	if p == cluster.PersistAlways {
		return scenarios.Span{}
	}
	return scenarios.Span{Fixed: min(5*time.Second, ttl/2)}
}

const lockKey = "k1"

// before is the part of the script before the crash.
func (p Point) before(m moment, drift float64) []scenarios.Step {
	var steps []scenarios.Step
	if drift > 0 {
		steps = append(steps, scenarios.Step{Verb: nemesis.Clock, Targets: []string{"c1"}, Rate: 1 - drift})
	}
	if p.Persistence == cluster.PersistEverysec && p.Crash == settings.PowerLoss {
		steps = append(steps, wait(m.tick))
		if m.worst {
			// Redis syncs at its first write in each second: this one is for another lock.
			steps = append(steps, granted(acquire("c1", "k2", scenarios.Span{})))
		}
	}
	steps = append(steps, granted(acquire("c1", lockKey, scenarios.Span{})))
	if m.share > 0 {
		steps = append(steps, wait(time.Duration(m.share*float64(p.TTL))))
	}
	return steps
}

func step(verb scenarios.Verb, targets ...string) scenarios.Step {
	return scenarios.Step{Verb: verb, Targets: targets}
}

func acquire(client, key string, within scenarios.Span) scenarios.Step {
	return scenarios.Step{Verb: scenarios.VerbAcquire, Targets: []string{client}, Key: key, Within: within}
}

// granted is an acquire without whose grant a trial shows nothing.
func granted(s scenarios.Step) scenarios.Step {
	s.Must = "ok"
	return s
}

func wait(d time.Duration) scenarios.Step {
	return scenarios.Step{Verb: scenarios.VerbWait, Wait: scenarios.Span{Fixed: d}}
}

func atLeast(n int) *int { return &n }
