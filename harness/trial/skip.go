package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockproof/checker"
	"lockproof/harness/locks"
	"lockproof/scenarios"
)

// Skip says why a plan cannot be run on its cluster, or "".
func (p *Plan) Skip() string {
	for _, need := range append(p.setup(), p.Asks()...) {
		if err := p.Settings.On.Can(need); err != nil {
			return err.Error()
		}
	}
	for _, command := range p.commands() {
		if knows := p.Settings.On.Knows; knows != nil {
			if err := knows(p.Settings.Choice, command); err != nil {
				return err.Error()
			}
		}
	}
	if !slices.Contains(p.On, p.Settings.On.Name) {
		return fmt.Sprintf("it runs on %s only", strings.Join(p.On, " and "))
	}
	if p.TTL < p.LeastTTL {
		return fmt.Sprintf("it shows nothing at a TTL of %v: it needs at least %v", p.TTL, p.LeastTTL)
	}
	if p.Settings.On.Fits != nil {
		if err := p.Settings.On.Fits(p.Servers(), p.Sentinels); err != nil {
			return err.Error()
		}
	}
	return p.unfit()
}

// unfit says what the lock lacks for this scenario, or "".
func (p *Plan) unfit() string {
	k := p.Lock
	uses := func(v scenarios.Verb) bool {
		return slices.ContainsFunc(p.Script, func(s scenarios.Step) bool { return s.Verb == v })
	}
	// lacks prefers the lock's own words to ours.
	lacks := func(what locks.Lack, ours string) string {
		if own := k.Lacks[what]; own != "" {
			return k.Name + ": " + own
		}
		return k.Name + " " + ours
	}
	for _, rule := range p.Without {
		if err := k.Off(rule); err != nil {
			return err.Error()
		}
	}
	switch {
	case k.SingleNode && p.Votes() > 1 && p.Settings.Lock != "":
		why := p.Several
		if why == "" {
			why = fmt.Sprintf("this is a scenario of %d, without a form for one (docs/scenarios.md, variants)", p.Votes())
		}
		return fmt.Sprintf("%s is a lock on one node: %s", k.Name, why)
	case k.Foreign && p.Sentinels > 0:
		return fmt.Sprintf("%s connects to servers that it is given, and does not ask Sentinels", k.Name)
	case k.Foreign && p.RedisCluster != nil:
		return fmt.Sprintf("%s connects to servers that it is given, and does not ask a Redis Cluster which has a key", k.Name)
	case k.Guards && p.RedisCluster != nil:
		return fmt.Sprintf("the restart guard of %s asks each server for how long it has been up, and a client of a Redis Cluster has many", k.Name)
	case p.Store.Check.Fenced() && !k.Fencing:
		return lacks(locks.LackFence, "issues no fencing tokens, which this scenario's store checks")
	case p.expectsTokens() && !k.Fencing:
		return lacks(locks.LackFence, "issues no fencing tokens, which this scenario is about")
	case (uses(scenarios.VerbExtend) || uses(scenarios.VerbWatch) && !k.Watches) && !k.Extends:
		return lacks(locks.LackExtend, "cannot extend a lease")
	case uses(scenarios.VerbWatch) && !k.Watches:
		return lacks(locks.LackWatch, "has no watchdog")
	case slices.Contains(p.Asks(), "client-clock") && !k.OwnClock && k.Program:
		return lacks(locks.LackClock, "reads a clock that cannot be set for one client")
	case slices.Contains(p.Asks(), "client-clock") && !k.OwnClock:
		return k.Name + " reads Go's own clock, which cannot be set for one client"
	case p.threads() && k.Program && !k.Threads:
		return lacks(locks.LackThreads, "does not say that its client carries out two operations at once, which this scenario asks for")
	case p.Scenario.Lock.Pool > 0 && k.Foreign:
		return k.Name + " makes its own connections, and this scenario is about how many there are"
	case p.waits() && !k.Waits:
		return k.Name + " does not wait for replicas, which this scenario is about"
	case uses(scenarios.VerbCancel) && k.Lacks[locks.LackCancel] != "":
		return lacks(locks.LackCancel, "")
	}
	return ""
}

// threads says whether a client does two things at once.
func (p *Plan) threads() bool {
	return p.Workload != nil && p.Workload.Threads > 1 || slices.ContainsFunc(p.Script, func(s scenarios.Step) bool { return s.Thread != "" })
}

// waits says whether the lock is to wait for replicas.
func (p *Plan) waits() bool {
	return p.Scenario.Lock.Waits() || slices.ContainsFunc(p.Clients, func(c scenarios.Client) bool { return c.Wait != nil && *c.Wait > 0 })
}

// commands lists those that the servers have to know and Redis 7.0 does not.
func (p *Plan) commands() []string {
	if p.Scenario.Lock.WaitAOF {
		return []string{"WAITAOF"}
	}
	return nil
}

// expectsTokens says whether the scenario expects something of fencing tokens.
func (p *Plan) expectsTokens() bool {
	return slices.ContainsFunc(checker.Properties(), func(property checker.Property) bool {
		return property.Tokens && p.Expect[property.Name] != ""
	})
}

// setup names what the plan asks of a cluster's servers.
func (p *Plan) setup() []string {
	names := slices.Sorted(maps.Keys(p.Redis))
	if p.Restart == scenarios.RestartAlways {
		names = append(names, "supervisor")
	}
	return names
}
