package main

import (
	"context"
	"time"

	"example.org/lockproof/harness/external"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/wording"
)

// exploreWorker makes the user's program the lock under test. Its clients are processes. Schedules run in real time,
// one after another: on a busy machine, delays would be blamed on the lock.
func (p *program) exploreWorker(ctx context.Context, x *exploreOptions, given func(string) bool) error {
	for _, flag := range []string{"without", "exhaust"} {
		if given(flag) {
			return usage("--%s goes with a search in virtual time, and --worker runs in real time", flag)
		}
	}
	s, o := &x.search, &x.options
	if o.Cluster = suite.Local; !given("lock") {
		o.Lock = ""
	}
	if err := p.useWorker(ctx, o, x.worker); err != nil {
		return err
	}
	each := suite.Options{Cluster: o.Cluster, Choice: o.Choice, Lock: o.Lock, Trials: 1, Retries: suite.DefaultRetries,
		Parallel: 1}
	if err := p.preflight(ctx, each); err != nil {
		return err
	}
	if !given("for") {
		s.For = 5 * time.Minute
	}
	s.Flags, s.Program = " --on local --worker "+wording.Quote(x.worker), external.Fingerprint(o.Worker)
	s.Slow, s.Parallel = true, 1
	s.Try = func(ctx context.Context, job suite.Job, seed uint64) suite.Result {
		one := each
		one.Seed = seed
		done, err := p.suite.One(ctx, job, one)
		if err != nil {
			done.Failure = err.Error()
		}
		return done
	}
	return nil
}
