package main

import (
	"context"
	"strings"
	"time"

	"example.org/lockproof/harness/suite"
)

// exploreWorker makes a program of the user's the lock that is searched. Its clients are processes: schedules run in
// real time, one after another, since a busy machine is late and a lock would be blamed for it.
func (p *program) exploreWorker(ctx context.Context, x *exploreOptions, given func(string) bool) error {
	for _, flag := range []string{"without", "exhaust"} {
		if given(flag) {
			return usage("--%s goes with a search in virtual time, and --worker runs in real time", flag)
		}
	}
	o := suite.Options{Cluster: suite.Local, Trials: 1, Seed: x.search.Seed, Retries: suite.DefaultRetries, Parallel: 1,
		VerdictsOnly: true}
	if given("lock") {
		o.Lock = x.search.Space.Lock
	}
	if err := useWorker(ctx, &o, x.worker); err != nil {
		return err
	}
	if err := p.preflight(ctx, o); err != nil {
		return err
	}
	s := &x.search
	if !given("for") {
		s.For = 5 * time.Minute
	}
	x.command, s.Space.Lock = o.Worker, o.Lock
	s.Flags = " --on local --worker '" + strings.ReplaceAll(x.worker, "'", `'\''`) + "'"
	s.Slow, s.Parallel = true, 1
	s.Try = func(ctx context.Context, job suite.Job, seed uint64) suite.Result {
		one := o
		one.Seed = seed
		done, err := p.suite.One(ctx, job, one)
		if err != nil {
			done.Failure = err.Error()
		}
		return done
	}
	return nil
}

// cluster is the kind on which the search and its finds run.
func (x *exploreOptions) cluster() string {
	if len(x.command) > 0 {
		return suite.Local
	}
	return suite.Virtual
}
