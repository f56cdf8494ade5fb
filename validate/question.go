package validate

import (
	"slices"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/validate/deploy"
	"example.org/lockproof/validate/settings"
)

// Question is an operator's question.
type Question struct {
	// Server is the server to judge, with its chain of facts.
	Server  *deploy.Server
	TTLs    []time.Duration // of the clients' locks
	Crashes []settings.Crash
	On      string // the cluster
	Trials  int    // of each crash and TTL
	Seed    uint64
	// Drift is the lock's drift factor: the part of the TTL reserved for clock
	// errors. Clocks err by as much in the trials.
	Drift float64
	// Failover describes the replicas; nil: there are none. Takeovers lists the takeovers to
	// try. Wait is the number of replicas that the lock waits for, by WAIT on the connection of
	// its SET.
	Failover  *deploy.Failover
	Takeovers []Takeover
	Wait      int
	// WaitAOF: the lock uses WAITAOF instead of WAIT, for its own server's disk and those of
	// Wait replicas. Such a lock uses one server, in the trials of crashes too.
	WaitAOF bool
	// Guard: the lock has a restart guard for the longest TTL.
	Guard    bool
	Parallel int
	Out      string // folder for the histories of violations, "" for none
}

// Longest is the longest TTL, which a restart delay must outlast.
func (q Question) Longest() time.Duration { return slices.Max(q.TTLs) }

// Boundary is the shortest restart delay after which a node that has forgotten
// a lock of this TTL does no harm: the TTL (redis.io, "Distributed Locks with
// Redis", the delayed restarts), and the drift factor for a supervisor whose
// clock runs fast.
func Boundary(ttl time.Duration, drift float64) time.Duration {
	return time.Duration(float64(ttl) * (1 + drift))
}

func persistenceOf(r *settings.Redis) cluster.Persistence {
	switch {
	case r.AppendOnly:
		return cluster.Persistence("aof-" + r.AppendFsync)
	case len(r.Save) > 0:
		return cluster.PersistRDB
	}
	return cluster.PersistNone
}

func persistenceAfter(s *deploy.Server, crash settings.Crash) cluster.Persistence {
	if s.Lost(crash) != "" {
		return cluster.PersistNone
	}
	return persistenceOf(s.Redis)
}

// Forgets reports whether a server with these settings can forget an acknowledged
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
	// Stage is called with the name of each measurement before it starts.
	Stage func(what string)
	// Failure is the harness's first own failure in any trial.
	Failure string
}
