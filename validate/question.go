package validate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/validate/deploy"
	"example.org/lockproof/validate/settings"
)

// Question is what an operator wants to know.
type Question struct {
	// Server is what is asked about, with the chain of what is known of it.
	Server  *deploy.Server
	TTLs    []time.Duration // of the clients' locks
	Crashes []settings.Crash
	On      string // the cluster
	Trials  int    // of each crash and TTL
	Seed    uint64
	// Drift is the lock's drift factor: the part of the TTL that is set aside
	// for clocks. Clocks are as wrong in the trials as it allows.
	Drift float64
	// Failover is what is known of replicas that may take a node's place; nil: there are
	// none. Takeovers are the ways in which they may, and Wait is for how many of them the
	// lock waits, by WAIT on the connection of its SET.
	Failover  *deploy.Failover
	Takeovers []Takeover
	Wait      int
	// WaitAOF: it waits by WAITAOF in place of WAIT, for its own server's disk and for those
	// of so many replicas. Such a lock is on one server, also where that crashes.
	WaitAOF bool
	// Guard: the lock has a restart guard for the longest TTL.
	Guard    bool
	Parallel int
	Out      string // folder for the histories of violations, "" for none
}

// Longest is the longest TTL, which is the one that a restart delay has to
// outlast.
func (q Question) Longest() time.Duration { return slices.Max(q.TTLs) }

// Boundary is the restart delay from which on a node that has forgotten a lock
// of this TTL can no longer matter: the TTL (redis.io, "Distributed Locks with
// Redis", the delayed restarts), and what a supervisor whose clock runs fast by
// the drift factor takes off the delay.
func Boundary(ttl time.Duration, drift float64) time.Duration {
	return time.Duration(float64(ttl) * (1 + drift))
}

// persistenceOf names what the settings keep.
func persistenceOf(r *settings.Redis) cluster.Persistence {
	switch {
	case r.AppendOnly:
		return cluster.Persistence("aof-" + r.AppendFsync)
	case len(r.Save) > 0:
		return cluster.PersistRDB
	}
	return cluster.PersistNone
}

// persistenceAfter names what a server keeps in a crash: nothing, where the data are gone with it.
func persistenceAfter(s *deploy.Server, crash settings.Crash) cluster.Persistence {
	if s.Lost(crash) != "" {
		return cluster.PersistNone
	}
	return persistenceOf(s.Redis)
}

// Forgets says whether a server with these settings can forget an acknowledged
// lock in a crash. An AOF is written before the reply, unless a background fsync runs (Row.Condition), and the
// page cache outlives the process; a clean SHUTDOWN saves or fsyncs; a power
// loss takes what was not fsynced.
func Forgets(p cluster.Persistence, crash settings.Crash) bool {
	switch crash {
	case settings.Kill:
		return p == cluster.PersistNone || p == cluster.PersistRDB
	case settings.Shutdown:
		return p == cluster.PersistNone
	}
	return p != cluster.PersistAlways
}

// Runner runs a question's trials.
type Runner struct {
	Question
	Suite suite.Runner
	// Observe is called once for each trial that finishes, one call at a time.
	Observe func(suite.Result)
	// Stage is told what is being measured next.
	Stage func(what string)
	// Failure is how the harness itself first failed in a trial, whatever that
	// trial was for.
	Failure string
}

func (a *Runner) stage(format string, args ...any) {
	if a.Stage != nil {
		a.Stage(fmt.Sprintf(format, args...))
	}
}

// run runs the nth trial of jobs.
func (a *Runner) run(ctx context.Context, jobs []suite.Job, n int) ([]suite.Result, error) {
	if len(jobs) == 0 || ctx.Err() != nil {
		return nil, nil
	}
	o := suite.Options{Cluster: a.On, Trials: 1, Seed: a.Seed + uint64(n), Retries: suite.DefaultRetries,
		Parallel: a.Parallel, Out: a.Out}
	observe := a.Observe
	if observe == nil {
		observe = func(suite.Result) {}
	}
	trials, err := a.Suite(ctx, jobs, o, observe)
	for _, t := range trials {
		a.Failure = cmp.Or(a.Failure, t.Failure)
	}
	return trials, err
}
