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

// Point is one place in the space of settings: what a server keeps, how it goes
// down, for how long, and the TTL of the lock that it had granted.
type Point struct {
	Persistence cluster.Persistence `json:"persistence"`
	Crash       settings.Crash      `json:"crash"`
	TTL         time.Duration       `json:"ttl"`   // nanoseconds
	Delay       time.Duration       `json:"delay"` // as the supervisor's clock counts it, nanoseconds
	// Guard: the lock has a restart guard for this TTL.
	Guard bool `json:"guard,omitempty"`
	// WaitAOF: the lock is on one server, and waits by WAITAOF for its disk.
	WaitAOF bool `json:"wait_aof,omitempty"`
	// Redis are the operator's own lines of redis.conf, by name, for clusters with
	// real servers.
	Redis map[string]string `json:"-"`
}

// moment is when in a lease the crash comes.
type moment struct {
	share float64       // of the lease, from 0
	tick  time.Duration // how long the server has been up by then, less whole seconds
	// worst: the crash comes right after the grant, and what everysec syncs at
	// once in each second was another lock.
	worst bool
}

// lastCrash is the last share of a lease at which a crash is tried: one that
// comes later has no time to matter.
const lastCrash = 0.9

// nth spreads the moments of crashes evenly over a lease, and over the second
// of everysec, for any number of trials (van der Corput 1935). The first is the
// worst.
func nth(n int) moment {
	if n == 0 {
		return moment{tick: 300 * time.Millisecond, worst: true}
	}
	return moment{share: lastCrash * radical(n, 2), tick: time.Duration(radical(n, 3) * float64(time.Second))}
}

// radical mirrors n's digits at the point: 1, 2, 3 in base 2 are 1/2, 1/4, 3/4.
func radical(n, base int) float64 {
	sum, digit := 0.0, 1/float64(base)
	for ; n > 0; n /= base {
		sum += float64(n%base) * digit
		digit /= float64(base)
	}
	return sum
}

// row is the catalogue's row that the trials are made of: c1 gets the lock from
// n1, n2 and n3, n3 restarts, and c2 reaches n3, n4 and n5.
var row = sync.OnceValues(func() (*scenarios.Scenario, error) { return catalogued("restart-without-persistence") })

// guardSlack is what a restart guard adds to the longest TTL, and more: servers tell their
// uptime in whole seconds.
const guardSlack = 4 * time.Second

// downLong is the share of the TTL from which on c2 tries its luck while n3 is
// down.
const downLong = 0.05

// job makes a trial of a point. Clocks are as wrong as the drift factor allows,
// in the directions that hurt: the holder's runs slow, and the supervisor's, by
// which the delay is counted, fast.
func (p Point) job(n int, drift float64) (suite.Job, error) {
	m, name := nth(n), fmt.Sprintf("%s-%s-ttl-%s-back-after-%s-%d", p.Persistence, p.Crash, p.TTL, p.Delay, n)
	base, err := row()
	if err != nil {
		return suite.Job{}, err
	}
	s := *base
	s.Name, s.TTL, s.Persistence, s.On, s.Redis = name, p.TTL, p.Persistence, cluster.Names(), p.Redis
	s.Title = fmt.Sprintf("%s under %s, back after %s, TTL %s", p.Crash, p.Persistence, p.Delay, p.TTL)
	// c2's first try after the restart is the one that counts; further ones show
	// that it can have the lock once it is free.
	s.Lock = scenarios.Lock{Drift: &drift, RetryMin: scenarios.Span{TTLs: 0.2}, RetryMax: scenarios.Span{TTLs: 0.4}}
	s.Expect = map[string]string{checker.MutualExclusion: history.Holds}
	s.Earned = scenarios.Earned{Grants: atLeast(2)}
	away := time.Duration(float64(p.Delay) / (1 + drift))
	if p.WaitAOF {
		p.onOneDisk(&s)
		drift = 0 // a lock on one server need not allow for it
	}
	s.Script = p.before(m, drift)
	long := away > time.Duration(downLong*float64(p.TTL))
	s.Script = append(s.Script, scenarios.Step{Verb: scenarios.Verb(p.Crash), Targets: []string{"n3"}})
	if long {
		s.Script = append(s.Script, scenarios.Step{Verb: scenarios.VerbAcquire, Targets: []string{"c2"}, Key: lockKey,
			Async: true, Within: scenarios.Span{TTLs: downLong / 2}})
	}
	if away > 0 {
		s.Script = append(s.Script, wait(away))
	}
	if long {
		s.Script = append(s.Script, scenarios.Step{Verb: scenarios.VerbAwait, Targets: []string{"c2"}})
	}
	again := scenarios.Span{TTLs: 2.5}
	if p.Guard {
		s.Lock.Name, again.Fixed = "redlock-guarded", guardSlack
		s.Bounds = scenarios.Bounds{"free": again, "grant": again} // that nobody gets it meanwhile is the price
	}
	s.Script = append(s.Script,
		scenarios.Step{Verb: nemesis.Start, Targets: []string{"n3"}},
		scenarios.Step{Verb: scenarios.VerbAcquire, Targets: []string{"c2"}, Key: lockKey, Must: "ok", Within: again})
	return suite.Job{Scenario: &s}, nil
}

// onOneDisk makes the lock one on the server that will crash, which waits for its disk.
func (p Point) onOneDisk(s *scenarios.Scenario) {
	s.Nodes, s.Clients = []string{"n3"}, []scenarios.Client{{Name: "c1"}, {Name: "c2"}}
	s.Lock.Name, s.Lock.WaitAOF, s.Lock.NodeTimeout = "single", true, diskTimeout(p.Persistence, p.TTL)
}

// diskTimeout is for how long a lock waits for its answer, twice what WAITAOF needs: with
// everysec an fsync comes within a second, and a replica's word of its own within another.
func diskTimeout(p cluster.Persistence, ttl time.Duration) scenarios.Span {
	if p == cluster.PersistAlways {
		return scenarios.Span{}
	}
	return scenarios.Span{Fixed: min(5*time.Second, ttl/2)}
}

const lockKey = "k1"

// before is the script until the crash.
func (p Point) before(m moment, drift float64) []scenarios.Step {
	var steps []scenarios.Step
	if drift > 0 {
		steps = append(steps, scenarios.Step{Verb: nemesis.Clock, Targets: []string{"c1"}, Rate: 1 - drift})
	}
	if p.Persistence == cluster.PersistEverysec && p.Crash == settings.PowerLoss {
		steps = append(steps, wait(m.tick))
		if m.worst {
			// Redis syncs at its first write in each second: that is another lock's.
			steps = append(steps, scenarios.Step{Verb: scenarios.VerbAcquire, Targets: []string{"c1"}, Key: "k2", Must: "ok"})
		}
	}
	steps = append(steps, scenarios.Step{Verb: scenarios.VerbAcquire, Targets: []string{"c1"}, Key: lockKey, Must: "ok"})
	if m.share > 0 {
		steps = append(steps, wait(time.Duration(m.share*float64(p.TTL))))
	}
	return steps
}

func wait(d time.Duration) scenarios.Step {
	return scenarios.Step{Verb: scenarios.VerbWait, Wait: scenarios.Span{Fixed: d}}
}

func atLeast(n int) *int { return &n }
