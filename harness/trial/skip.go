package trial

import (
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/scenarios"
)

// Hint returns the user's remedy for a skipped plan, "" if there is none.
func (p *Plan) Hint() string {
	if p.Lock.External && p.Skip() == p.systemClockReason() {
		return "needs a lock that reads env.Clock()"
	}
	return ""
}

// Skip returns the first reason why a plan cannot run on its cluster, or "".
func (p *Plan) Skip() string {
	if p.Job.Unfit != "" {
		return p.Job.Unfit
	}
	for _, ability := range p.Needs() {
		if err := p.Cluster.Can(ability); err != nil {
			return err.Error()
		}
	}
	for _, command := range p.commands() {
		if knows := p.Cluster.Knows; knows != nil {
			if err := knows(p.Choice, command); err != nil {
				return err.Error()
			}
		}
	}
	if !slices.Contains(p.On, p.Cluster.Name) {
		return fmt.Sprintf("it runs on %s only", strings.Join(p.On, " and "))
	}
	if p.TTL < p.MinTTL {
		return fmt.Sprintf("it shows nothing at a TTL of %v: it needs at least %v", p.TTL, p.MinTTL)
	}
	if p.Cluster.Fits != nil {
		if err := p.Cluster.Fits(p.Servers(), p.Sentinels); err != nil {
			return err.Error()
		}
	}
	return p.lockUnsuitable()
}

// lockUnsuitable returns what the lock lacks for this scenario, or "".
func (p *Plan) lockUnsuitable() string {
	k := p.Lock
	uses := func(v scenarios.Verb) bool {
		return slices.ContainsFunc(p.Script, func(s scenarios.Step) bool { return s.Verb == v })
	}
	// lacks prefers the lock's own reason.
	lacks := func(what locks.Feature, ours string) string {
		if own := k.Unsupported[what]; own != "" {
			return fmt.Sprintf("%s: %s", k.Name, own)
		}
		return fmt.Sprintf("%s %s", k.Name, ours)
	}
	for _, rule := range p.Without {
		if err := k.CheckRule(rule); err != nil {
			return err.Error()
		}
	}
	switch {
	case k.SingleNode && p.VotingNodes() > 1 && p.Job.Lock != "":
		why := p.MultiNodeReason
		if why == "" {
			why = fmt.Sprintf("the scenario uses %d nodes and has no single-node variant", p.VotingNodes())
		}
		return fmt.Sprintf("%s is a lock on one node: %s", k.Name, why)
	case k.External && p.Sentinels > 0:
		return fmt.Sprintf("%s connects to servers that it is given, and does not ask Sentinels", k.Name)
	case k.External && p.RedisCluster != nil:
		return fmt.Sprintf("%s connects to servers that it is given, and does not ask a Redis Cluster which has a key",
			k.Name)
	case k.RestartGuard && p.RedisCluster != nil:
		return fmt.Sprintf("the restart guard of %s asks each server for how long it has been up, and a client of a Redis "+
			"Cluster has many", k.Name)
	case p.Store.Fenced() && !k.Fencing:
		return lacks(locks.FeatureFence, "issues no fencing tokens, which this scenario's store checks")
	case p.expectsTokens() && !k.Fencing:
		return lacks(locks.FeatureFence, "issues no fencing tokens, which this scenario is about")
	case (uses(scenarios.VerbExtend) || uses(scenarios.VerbWatch) && !k.Watches && !k.Renews) && !k.Extends:
		return lacks(locks.FeatureExtend, "cannot extend a lease")
	case uses(scenarios.VerbWatch) && !k.Watches && !k.Renews:
		return lacks(locks.FeatureWatch, "has no watchdog")
	case p.HasClass(history.ClientClock) && !k.OwnClock && k.Program:
		return lacks(locks.FeatureClock, "reads a clock that cannot be set for one client")
	case p.asksSystemClock():
		return p.systemClockReason()
	case p.HasClass(history.ClientStarved) && k.Program:
		return fmt.Sprintf("%s sets timers of its own, which cannot be made late for one client", k.Name)
	case p.needsThreads() && k.Program && !k.Threads:
		return lacks(locks.FeatureThreads,
			"does not say that its client carries out two operations at once, which this scenario asks for")
	case p.Scenario.Lock.Pool > 0 && k.External:
		return fmt.Sprintf("%s makes its own connections, and this scenario is about how many there are", k.Name)
	case p.needsWait() && !k.Waits:
		return fmt.Sprintf("%s does not wait for replicas, which this scenario is about", k.Name)
	case p.givesReplicas() && !k.Failover:
		return fmt.Sprintf("%s does not choose between a master and its replicas, which this scenario is about", k.Name)
	case uses(scenarios.VerbCancel) && k.Unsupported[locks.FeatureCancel] != "":
		return lacks(locks.FeatureCancel, "")
	}
	return ""
}

// needsThreads reports whether a client runs two operations at once.
func (p *Plan) needsThreads() bool {
	return p.Workload != nil && p.Workload.Threads > 1 ||
		slices.ContainsFunc(p.Script, func(s scenarios.Step) bool { return s.Thread != "" })
}

// needsWait reports whether the lock must wait for replicas.
func (p *Plan) needsWait() bool {
	return p.Scenario.Lock.WaitsForReplicas() ||
		slices.ContainsFunc(p.Clients, func(c scenarios.Client) bool { return c.Wait != nil && *c.Wait > 0 })
}

// givesReplicas reports whether a client's nodes include a master and its replica.
func (p *Plan) givesReplicas() bool {
	return slices.ContainsFunc(p.Clients, func(c scenarios.Client) bool {
		return slices.ContainsFunc(c.Nodes, func(name string) bool { return slices.Contains(c.Nodes, p.Replicas[name]) })
	})
}

// commands lists the required commands that Redis 7.0 does not have.
func (p *Plan) commands() []string {
	if p.Scenario.Lock.WaitAOF {
		return []string{"WAITAOF"}
	}
	return nil
}

// expectsTokens reports whether the scenario has an expectation about fencing tokens.
func (p *Plan) expectsTokens() bool {
	return slices.ContainsFunc(checker.Properties(), func(property checker.Property) bool {
		return property.Tokens && p.Expect[property.Name] != ""
	})
}

// asksSystemClock reports whether the scenario changes one client's clock but the lock reads Go's own.
func (p *Plan) asksSystemClock() bool {
	return !p.Lock.Program && !p.Lock.OwnClock && (p.HasClass(history.ClientClock) || p.HasClass(history.ClientStarved))
}

// systemClockReason is for a Go lock in a scenario that changes one client's clock or timers.
func (p *Plan) systemClockReason() string {
	return fmt.Sprintf("%s reads Go's own clock, which cannot be set for one client", p.Lock.Name)
}
