package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockproof/harness/history"
	"lockproof/harness/locks"
)

// New makes the lock of one client.
type New func(Env) (Lock, error)

// kind puts the lock among those under test.
func kind(name string, build New, declared Belief) locks.Kind {
	return locks.Kind{
		Name: name, Doc: "the lock of a Go test", Foreign: true,
		New: func(env locks.Env) (locks.Lock, error) {
			if len(env.Servers) == 0 {
				return nil, errors.New("it connects to servers that it is given, and there are none")
			}
			given := newEnv(env)
			lock, err := build(given)
			if err != nil {
				return nil, err
			}
			if lock == nil {
				return nil, errors.New("the test's function gave neither a lock nor an error")
			}
			return &adapter{lock: lock, env: given, declared: declared}, nil
		},
	}
}

// adapter is a lock of a test's as the harness has it.
type adapter struct {
	lock     Lock
	env      Env
	declared Belief

	mu      sync.Mutex
	first   Lease // that was granted
	mistake error // in what the test gave, not in what the lock does
}

var _ locks.Described = (*adapter)(nil)

func (a *adapter) Acquire(ctx context.Context, key string) (locks.Lease, error) {
	lease, err := locks.Retry(ctx, a.env.env, func() (locks.Lease, error) { return a.attempt(ctx, key) })
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mistake != nil { // whatever the tries after it came to
		return nil, a.mistake
	}
	return lease, err
}

func (a *adapter) attempt(ctx context.Context, key string) (locks.Lease, error) {
	called := a.now()
	a.lastSent(key) // looks out for it
	granted, err := a.lock.Acquire(ctx, key)
	returned := a.now()
	if err != nil {
		return nil, reasoned(ctx, err)
	}
	if granted == nil {
		return nil, a.wrong(errors.New("Acquire gave neither a lease nor an error"))
	}
	if a.declared == AsTold && !tells(granted) {
		return nil, a.wrong(errors.New("the belief is declared to be as the lease tells, and the lease has neither Validity nor Until"))
	}
	a.mu.Lock()
	if a.first == nil {
		a.first = granted
	}
	a.mu.Unlock()
	l := &lease{Lease: granted, by: a, belief: a.belief(granted)}
	l.until = l.belief.until(span{a.asked(key, called), returned, a.env.TTL, a.env.Drift})
	return l, nil
}

func (a *adapter) wrong(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mistake = &locks.Error{Reason: history.ReasonOther, Err: err}
	return a.mistake
}

func (a *adapter) now() time.Duration { return a.env.env.Clock.Now() }

// asked is when the lock asked for the key that it has now, in a call that began then.
func (a *adapter) asked(key string, called time.Duration) time.Duration {
	if single, _ := a.env.used.read(); single {
		return max(called, a.lastSent(key))
	}
	return called
}

// lastSent is when a command with one of the key's names was last sent.
func (a *adapter) lastSent(key string) time.Duration {
	var latest time.Duration
	for _, name := range a.names(key) {
		latest = max(latest, a.env.env.Sent(name))
	}
	return latest
}

// names are those that a key has on the servers.
func (a *adapter) names(key string) []string {
	if k, ok := a.lock.(Keyed); ok {
		if names := k.Keys(key); len(names) > 0 {
			return names
		}
	}
	return []string{key}
}

// belief is what was declared, or else what the lease itself says, if it does.
func (a *adapter) belief(l Lease) Belief {
	if a.declared != "" {
		return a.declared
	}
	if tells(l) {
		return AsTold
	}
	return leastBelief
}

// tells says whether a lease says how long it is valid.
func tells(l Lease) bool {
	switch l.(type) {
	case Valid, Expiring:
		return true
	}
	return false
}

// Describe tells what the first lease shows.
func (a *adapter) Describe() *locks.Abilities {
	a.mu.Lock()
	first := a.first
	a.mu.Unlock()
	single, ownClock := a.env.used.read()
	_, extends := first.(Extender)
	_, watches := first.(Contextual)
	_, fencing := first.(Fenced)
	return &locks.Abilities{
		Fencing: fencing, OwnClock: ownClock, Extends: extends, Watches: watches, SingleNode: single,
		Belief: a.belief(first).inWords(), Keys: a.names(locks.KeyPlace),
	}
}

func (a *adapter) Close() error {
	if c, ok := a.lock.(Closer); ok {
		return c.Close()
	}
	return nil
}

// lease is one of a test's as the harness has it.
type lease struct {
	Lease
	by     *adapter
	belief Belief

	mu    sync.Mutex
	until time.Duration // on the client's clock; not for AsTold
}

func (l *lease) Token() string {
	if t, ok := l.Lease.(Tokened); ok {
		return t.Token()
	}
	return ""
}

func (l *lease) Fence() int64 {
	if f, ok := l.Lease.(Fenced); ok {
		return f.Fence()
	}
	return 0
}

func (l *lease) Validity() time.Duration {
	switch told := l.Lease.(type) {
	case Valid:
		if l.belief == AsTold {
			return told.Validity()
		}
	case Expiring:
		if l.belief == AsTold {
			return time.Until(told.Until())
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until - l.by.now()
}

func (l *lease) Extend(ctx context.Context) error {
	e, ok := l.Lease.(Extender)
	if !ok {
		return &locks.Error{Reason: history.ReasonRefused, Err: errors.New("this lock cannot extend a lease")}
	}
	called := l.by.now()
	if err := e.Extend(ctx); err != nil {
		return reasoned(ctx, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = l.belief.until(span{called, l.by.now(), l.by.env.TTL, l.by.env.Drift})
	return nil
}

// Context is the lease's own, nil if it has none.
func (l *lease) Context() context.Context {
	if c, ok := l.Lease.(Contextual); ok {
		return c.Context()
	}
	return nil
}

// Watch gives nothing: what watches by itself does so from the grant on.
func (l *lease) Watch(context.Context, func(context.Context) error) context.Context { return nil }

func (l *lease) Release(ctx context.Context) error {
	if err := l.Lease.Release(ctx); err != nil {
		return reasoned(ctx, err)
	}
	return nil
}

// reasoned gives an error of a test's lock its reason, as far as it says one.
func reasoned(ctx context.Context, err error) error {
	reason := history.ReasonOther
	switch {
	case errors.Is(err, ErrHeld):
		reason = history.ReasonHeld
	case errors.Is(err, ErrLost):
		reason = history.ReasonLost
	case ctx.Err() != nil:
		reason = history.ReasonCancelled
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return &locks.Error{Reason: reason, Err: err}
}
