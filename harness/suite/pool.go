package suite

import "context"

// Pool runs trials in virtual time that are thought of one by one, in children.
type Pool struct {
	runners chan *childRunner
}

// Pool gives a pool of as many children as run side by side with these options, of
// which the seed and the number of trials are not used. Nothing that killed runs have
// left is removed: the trials leave nothing. Close gives the children back.
func (c *Children) Pool(o Options) (*Pool, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	p := &Pool{runners: make(chan *childRunner, o.parallel())}
	for range cap(p.runners) {
		p.runners <- &childRunner{children: c, options: o, progressTimeout: c.progressTimeout()}
	}
	return p, nil
}

// Size is how many trials run side by side.
func (p *Pool) Size() int { return cap(p.runners) }

// Try runs one trial of a job with that seed, as soon as a child is free.
func (p *Pool) Try(ctx context.Context, job Job, seed uint64) Result {
	r := <-p.runners
	defer func() { p.runners <- r }()
	r.options.Seed = seed
	if r.child != nil {
		clear(r.child.sentRows) // every job is another
	}
	return r.runTrial(ctx, ticket{job: job})
}

// Close waits for the trials under way.
func (p *Pool) Close() {
	for range cap(p.runners) {
		(<-p.runners).finish()
	}
}
