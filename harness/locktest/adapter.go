package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/overlay"
)

// New makes the lock of one client.
type New func(Env) (Lock, error)

// kind puts the lock among those under test.
func kind(name string, build New, declared Belief, allowed []string) locks.Kind {
	renews := role != nil && role.Abilities != nil && role.Abilities.Renews
	return locks.Kind{
		Name: name, Doc: "the lock of a Go test", External: true, LeavesBehind: allowed,
		New: func(env locks.Env) (locks.Lock, error) {
			if len(env.Servers) == 0 {
				return nil, errors.New("it connects to servers that it is given, and there are none")
			}
			given := newEnv(env)
			lock, err := build(given)
			if errors.Is(err, ErrRefused) {
				return nil, &locks.Error{Reason: history.ReasonRefused, Err: err}
			}
			if err != nil {
				return nil, err
			}
			if lock == nil {
				return nil, errors.New("the test's function gave neither a lock nor an error")
			}
			return &adapter{lock: lock, env: given, declaredBelief: declared, renews: renews}, nil
		},
	}
}

// strangers says which hosts a lock has dialled that virtual time does not have.
func strangers() []string {
	var all []string
	for _, address := range overlay.Unknown() {
		all = append(all,
			fmt.Sprintf("it dialled %s, which is none of its servers: it was refused, as everything is in virtual time",
				address))
	}
	return all
}

// adapter is a lock of a test's as the harness has it.
type adapter struct {
	lock           Lock
	env            Env
	declaredBelief Belief
	renews         bool // it keeps its leases extended by itself

	asked      atomic.Bool // Acquire was called
	mu         sync.Mutex
	refusal    error // of its latest attempt
	firstLease Lease // that was granted
	adapterErr error // in what the test gave, not in what the lock does
}

var _ locks.Described = (*adapter)(nil)

func (a *adapter) Acquire(ctx context.Context, key string) (locks.Lease, error) {
	lease, err := locks.Retry(ctx, a.env.env, func() (locks.Lease, error) { return a.attempt(ctx, key) })
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.adapterErr != nil { // whatever the tries after it came to
		return nil, a.adapterErr
	}
	return lease, err
}

func (a *adapter) attempt(ctx context.Context, key string) (locks.Lease, error) {
	called := a.now()
	if ctx.Err() == nil {
		a.asked.Store(true)
	}
	a.lastSent(key, called) // looks out for it
	granted, err := a.lock.Acquire(ctx, key)
	returned := a.now()
	a.mu.Lock()
	a.refusal = err
	if err == nil && a.firstLease == nil {
		a.firstLease = granted
	}
	a.mu.Unlock()
	if err != nil {
		return nil, withReason(ctx, err)
	}
	if granted == nil {
		return nil, a.adapterError(errors.New("Acquire gave neither a lease nor an error"))
	}
	if a.declaredBelief == ByLease && !declaresEnd(granted) {
		return nil,
			a.adapterError(errors.New("the belief is declared to be as the lease tells, and the lease has neither " +
				"Validity nor Until"))
	}
	l := &lease{Lease: granted, by: a, belief: a.belief(granted)}
	asked, several := a.requestTime(key, called)
	if l.belief == FromCall && len(several) > 0 {
		return nil, a.adapterError(fmt.Errorf("the belief is counted from when the lock asked for its key, and it sent "+
			"commands about several that end in %q: %q. Say which it is by Keys, or declare another belief", key, several))
	}
	l.until = l.belief.end(asked, returned, a.env.TTL)
	return l, nil
}

// adapterError is of what the test gave. The lock was not asked then, so that no wait for it is in vain.
func (a *adapter) adapterError(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.adapterErr = &locks.Error{Reason: history.ReasonRefused, Err: err}
	return a.adapterErr
}

func (a *adapter) now() time.Duration { return a.env.env.Clock.Now() }

// requestTime is when the lock asked for the key that it has now, in a call that began then.
func (a *adapter) requestTime(key string, called time.Duration) (asked time.Duration, several []string) {
	if a.env.used.servers() != 1 {
		return called, nil
	}
	sent, several := a.lastSent(key, called)
	return max(called, sent), several
}

// lastSent is [locks.Network.LastSent] of whichever of the key's names was sent last.
func (a *adapter) lastSent(key string, since time.Duration) (latest time.Duration, several []string) {
	for _, name := range a.names(key) {
		at, more := a.env.env.LastSent(name, since)
		latest, several = max(latest, at), append(several, more...)
	}
	return latest, several
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

// belief is what was declared; or else what the lease shows; or else what callers of a lock with a TTL count.
func (a *adapter) belief(l Lease) Belief {
	switch {
	case a.declaredBelief != "":
		return a.declaredBelief
	case declaresEnd(l):
		return ByLease
	case endsContext(l), a.renews:
		return UntilReleased
	}
	return FromReturn
}

// beliefText says how long clients believe in a lease, and why.
func (a *adapter) beliefText(l Lease) string {
	text := a.belief(l).description()
	switch {
	case text == "":
		return ""
	case endsContext(l):
		text += contextSuffix
	}
	switch {
	case a.declaredBelief != "":
		return text + declaredSuffix
	case a.renews && !endsContext(l):
		return text + renewsSuffix
	case !endsContext(l):
		return text + defaultSuffix
	}
	return text
}

// endsContext says whether a lease has a context that ends with it.
func endsContext(l Lease) bool {
	c, ok := l.(Contextual)
	return ok && c.Context() != nil
}

// declaresEnd says whether a lease says how long it is valid.
func declaresEnd(l Lease) bool {
	switch l.(type) {
	case Valid, Expiring:
		return true
	}
	return false
}

// Describe tells what the first lease shows.
func (a *adapter) Describe() *locks.Abilities {
	a.mu.Lock()
	first := a.firstLease
	a.mu.Unlock()
	used := a.env.used
	_, extends := first.(Extender)
	_, watches := first.(Contextual)
	_, fencing := first.(Fenced)
	some := used.servers()
	if some == used.given {
		some = 0 // it uses all
	}
	return &locks.Abilities{
		Fencing: fencing, OwnClock: used.ownClock.Load(), Extends: extends, Watches: watches, SingleNode: used.servers() == 1,
		Servers: some,
		Belief:  a.beliefText(first), Keys: a.names(locks.KeyPlaceholder),
		Notices: append(used.notices(), strangers()...),
	}
}

// errShared: each client stands for a process, and reaches the servers over links of its own.
var errShared = errors.New("the lock was asked, and has never connected over its client's own links: make its " +
	"connections for each Env, by env.Client or env.Dial, and share no pool among clients")

func (a *adapter) Close() error {
	var err error
	if c, ok := a.lock.(Closer); ok {
		err = c.Close()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.asked.Load() || a.env.env.Dialled() {
		return err
	}
	if a.refusal != nil {
		return errors.Join(fmt.Errorf("%w; the last attempt: %w", errShared, a.refusal), err)
	}
	return errors.Join(errShared, err)
}

// lease is one of a test's as the harness has it.
type lease struct {
	Lease
	by     *adapter
	belief Belief

	mu    sync.Mutex
	until time.Duration // on the client's clock; not for ByLease
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
	if l.belief == ByLease {
		if v, ok := l.Lease.(Valid); ok {
			return v.Validity()
		}
		return time.Until(l.Lease.(Expiring).Until())
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
		return withReason(ctx, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = l.belief.end(called, l.by.now(), l.by.env.TTL)
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
		return withReason(ctx, err)
	}
	return nil
}

// withReason gives an error of a test's lock its reason, as far as it says one.
func withReason(ctx context.Context, err error) error {
	reason := history.ReasonOther
	switch {
	case errors.Is(err, ErrHeld):
		reason = history.ReasonHeld
	case errors.Is(err, ErrLost):
		reason = history.ReasonLost
	case errors.Is(err, ErrNoRelease):
		reason = history.ReasonRefused
	case ctx.Err() != nil:
		reason = history.ReasonCancelled
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return &locks.Error{Reason: reason, Err: err}
}
