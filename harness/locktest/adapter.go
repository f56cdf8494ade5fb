package locktest

import (
	"cmp"
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

// newKind is the kind of the test's lock. A child process knows its abilities.
func newKind(s settings, build New) locks.Kind {
	known := locks.Abilities{Servers: s.nodes}
	if role != nil && role.Abilities != nil {
		known = *role.Abilities
	}
	return locks.Kind{
		Name: s.name, Doc: "the lock of a Go test", External: true, LeavesBehind: s.leavesBehind, Abilities: known,
		New: func(env locks.Env) (locks.Lock, error) {
			if len(env.Servers) == 0 {
				return nil, errors.New("it connects to servers that it is given, and there are none")
			}
			own := newEnv(env)
			lock, err := build(own)
			if errors.Is(err, ErrRefused) {
				return nil, &locks.Error{Reason: history.ReasonRefused, Err: err}
			}
			if err != nil {
				return nil, err
			}
			if lock == nil {
				return nil, errors.New("the test's function gave neither a lock nor an error")
			}
			return &adapter{lock: lock, env: own, declaredBelief: cmp.Or(Belief(env.Belief), s.belief),
				renews: known.Renews}, nil
		},
	}
}

// unknownHosts reports the dialled hosts that virtual time does not have.
func unknownHosts() []string {
	var all []string
	for _, address := range overlay.Unknown() {
		all = append(all,
			fmt.Sprintf("it dialled %s, which is none of its servers: it was refused, as everything is in virtual time",
				address))
	}
	return all
}

// adapter makes a test's lock a harness lock.
type adapter struct {
	lock           Lock
	env            Env
	declaredBelief Belief
	renews         bool // it extends its leases by itself

	acquireCalled atomic.Bool
	mu            sync.Mutex
	refusal       error // of its latest attempt
	firstLease    Lease
	adapterErr    error // a mistake in the test's code, not in the lock
}

var _ locks.Described = (*adapter)(nil)

func (a *adapter) Acquire(ctx context.Context, key string) (locks.Lease, error) {
	lease, err := locks.Retry(ctx, a.env.env, func() (locks.Lease, error) { return a.attempt(ctx, key) })
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.adapterErr != nil { // even if a later attempt succeeded
		return nil, a.adapterErr
	}
	return lease, err
}

func (a *adapter) attempt(ctx context.Context, key string) (locks.Lease, error) {
	called := a.now()
	if ctx.Err() == nil {
		a.acquireCalled.Store(true)
	}
	a.lastSent(key, called) // the first call for a key starts the recording
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
	l := &lease{Lease: granted, by: a}
	l.belief, _ = a.belief(granted)
	requested, several := a.requestTime(key, called)
	if l.belief == FromCall && len(several) > 0 {
		return nil, a.adapterError(fmt.Errorf("the belief is counted from when the lock asked for its key, and it sent "+
			"commands about several that end in %q: %q. Say which it is by Keys, or declare another belief", key, several))
	}
	l.until = l.belief.end(requested, returned, a.env.TTL)
	return l, nil
}

// adapterError records a mistake in the test's code. As a refusal, it does not count as a request for the lock.
func (a *adapter) adapterError(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.adapterErr = &locks.Error{Reason: history.ReasonRefused, Err: err}
	return a.adapterErr
}

func (a *adapter) now() time.Duration { return a.env.env.Clock.Now() }

// requestTime is the send time of the command that acquired the key. For a lock on several servers it is the time of
// the call.
func (a *adapter) requestTime(key string, called time.Duration) (requested time.Duration, several []string) {
	if a.env.used.servers() != 1 {
		return called, nil
	}
	sent, several := a.lastSent(key, called)
	return max(called, sent), several
}

// lastSent is the latest [locks.Network.LastSent] of the key's names.
func (a *adapter) lastSent(key string, since time.Duration) (latest time.Duration, several []string) {
	for _, name := range a.names(key) {
		at, more := a.env.env.LastSent(name, since)
		latest, several = max(latest, at), append(several, more...)
	}
	return latest, several
}

// names lists the key's names on the servers.
func (a *adapter) names(key string) []string {
	if k, ok := a.lock.(Keyed); ok {
		if names := k.Keys(key); len(names) > 0 {
			return names
		}
	}
	return []string{key}
}

// belief is the declared belief, or else the lease's, or else the usual one of a lock with a TTL, with the reason.
func (a *adapter) belief(l Lease) (belief Belief, reason string) {
	switch {
	case a.declaredBelief != "":
		return a.declaredBelief, declaredSuffix
	case declaresEnd(l):
		return ByLease, ""
	case endsContext(l):
		return UntilReleased, ""
	case a.renews:
		return UntilReleased, renewsSuffix
	}
	return FromReturn, defaultSuffix
}

// beliefText describes the belief and its reason.
func (a *adapter) beliefText(l Lease) string {
	belief, reason := a.belief(l)
	text := belief.description()
	switch {
	case text == "":
		return ""
	case endsContext(l):
		text += contextSuffix
	}
	return text + reason
}

func endsContext(l Lease) bool {
	c, ok := l.(Contextual)
	return ok && c.Context() != nil
}

// declaresEnd reports whether a lease states its validity.
func declaresEnd(l Lease) bool {
	switch l.(type) {
	case Valid, Expiring:
		return true
	}
	return false
}

// Describe derives the abilities from the first lease.
func (a *adapter) Describe() *locks.Abilities {
	a.mu.Lock()
	first := a.firstLease
	a.mu.Unlock()
	used := a.env.used
	_, extends := first.(Extender)
	_, watches := first.(Contextual)
	_, fencing := first.(Fenced)
	subset := used.servers()
	if subset == used.available {
		subset = 0 // it uses all
	}
	return &locks.Abilities{
		Fencing: fencing, OwnClock: used.ownClock.Load(), Extends: extends, Watches: watches, SingleNode: used.servers() == 1,
		Servers: subset,
		Belief:  a.beliefText(first), Keys: a.names(locks.KeyPlaceholder),
		Notices: append(used.notices(), unknownHosts()...),
	}
}

// errShared: each client stands for a process and has its own links to the servers.
var errShared = errors.New("the lock was asked, and has never connected over its client's own links: make its " +
	"connections for each Env, by env.Client or env.Dial, and share no pool among clients")

func (a *adapter) Close() error {
	var err error
	if c, ok := a.lock.(Closer); ok {
		err = c.Close()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.acquireCalled.Load() || a.env.env.Dialled() {
		return err
	}
	if a.refusal != nil {
		return errors.Join(fmt.Errorf("%w; the last attempt: %w", errShared, a.refusal), err)
	}
	return errors.Join(errShared, err)
}

// lease makes a test's lease a harness lease.
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

// Context returns the lease's own context, nil if it has none.
func (l *lease) Context() context.Context {
	if c, ok := l.Lease.(Contextual); ok {
		return c.Context()
	}
	return nil
}

// Renews reports whether the lock prolongs the validity that the lease reports.
func (l *lease) Renews() bool { return l.belief == ByLease && l.by.renews }

func (l *lease) Release(ctx context.Context) error {
	if err := l.Lease.Release(ctx); err != nil {
		return withReason(ctx, err)
	}
	return nil
}

// withReason adds the reason of an error that the test's lock returned.
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
