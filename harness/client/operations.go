package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/redlock"
)

// heldLease is one lease and its client's state.
type heldLease struct {
	lease locks.Lease
	id    int // of the acquire
	key   string
	token string
	fence int64
	seen  string // the version last read or written at the store
	over  bool   // a check failed
	// released and lost are shared with the watcher.
	released, lost atomic.Bool
	watched        bool // its end is recorded
	superseded     bool // it was released, or the client has called acquire for the key again
}

// event is the beginning of an event about the lease; its operation, if any, has no ID yet.
func (held *heldLease) event(op history.Op) history.Event {
	return history.Event{Op: op, Lease: held.id, Key: held.key, Token: held.token, Fence: held.fence}
}

// believesWall reports whether the lock counts its leases on the wall clock.
func believesWall(o locks.Options) bool {
	return slices.Contains(o.Without, string(redlock.MonotonicClock))
}

func (t *thread) operate(ctx context.Context, cmd Command) (history.Type, error) {
	if cmd.Do == DoAcquire {
		outcome, _ := t.acquire(ctx, cmd.Key)
		return outcome, nil
	}
	held := t.leaseOn(cmd.Key)
	if cmd.IfHeld && (held == nil || held.superseded) {
		return "", nil
	}
	if cmd.Do == DoRead {
		if held == nil && cmd.Key == "" {
			return "", errors.New("read: which key? There is no lease to take it from")
		}
		return t.read(ctx, cmd.Key, held), nil
	}
	if held == nil {
		return "", noLease(cmd)
	}
	switch cmd.Do {
	case DoExtend:
		outcome, _ := t.extend(ctx, held)
		return outcome, nil
	case DoRelease:
		return t.release(ctx, held), nil
	case DoCheck:
		return t.check(held), nil
	case DoWrite:
		return t.write(ctx, held), nil
	default:
		return "", t.watch(held)
	}
}

// leaseOn returns the latest lease on a key, or on any key if it is "".
func (t *thread) leaseOn(key string) *heldLease {
	if key == "" {
		return t.latest
	}
	return t.leases[key]
}

func noLease(cmd Command) error {
	on := ""
	if cmd.Key != "" {
		on = " on " + cmd.Key
	}
	return fmt.Errorf("%s: the client has had no lease%s so far: an acquire that succeeds must come first", cmd.Do, on)
}

// begin records the beginning of an operation.
func (c *Client) begin(e history.Event) history.Event {
	e.ID, e.Type = c.next(), history.TypeInvoke
	c.record(e)
	return e
}

// end records how an operation ended.
func (c *Client) end(e history.Event, outcome history.Type, reason string, err error) history.Type {
	e.Type, e.Reason = outcome, reason
	if err != nil {
		e.Error = c.text(err)
	}
	c.record(e)
	return outcome
}

// text is an error's text, the same in each run with this seed.
func (c *Client) text(err error) string { return c.own.hosts.Plain(err.Error(), c.setup.Nodes) }

// believe records a success with the lease's validity.
func (c *Client) believe(e history.Event, lease locks.Lease) history.Type {
	e.Type, e.Wall = history.TypeOK, believesWall(c.setup.Options)
	c.measure(e, func(e *history.Event) { e.Validity = max(0, int64(lease.Validity())) })
	return history.TypeOK
}

// acquire records a failure as fail, even if a node may still have the key: the client knows that it holds no lease.
// It returns the lock's error.
func (t *thread) acquire(ctx context.Context, key string) (history.Type, error) {
	if earlier := t.leases[key]; earlier != nil {
		earlier.superseded = true
	}
	e := t.begin(history.Event{Op: history.OpAcquire, Key: key})
	lease, err := t.lock.Acquire(ctx, t.setup.KeyPrefix+key)
	if err != nil {
		return t.end(e, history.TypeFail, locks.Reason(err), err), err
	}
	held := &heldLease{lease: lease, id: e.ID, key: key, token: lease.Token(), fence: lease.Fence()}
	t.latest, t.leases[key] = held, held
	granted := held.event(history.OpAcquire)
	granted.ID = e.ID
	outcome := t.believe(granted, lease)
	if l, ok := lease.(locks.Contextual); ok {
		t.watchLoss(held, l.Context())
	}
	if l, ok := lease.(locks.Renewing); ok && l.Renews() {
		t.running.Go(func() { t.followRenewals(held, lease.Validity()) })
	}
	if l, ok := t.lock.(locks.Described); ok {
		t.describing.Do(func() { t.send(Message{Lock: l.Describe()}) })
	}
	return outcome, nil
}

func (c *Client) version() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written++
	return fmt.Sprintf("%s.%d", c.setup.Name, c.written)
}

// extend records a failure as fail: the client still relies on its earlier validity, unless the error is that the
// lease is lost. It returns the lock's error.
func (c *Client) extend(ctx context.Context, held *heldLease) (history.Type, error) {
	e := c.begin(held.event(history.OpExtend))
	if err := held.lease.Extend(ctx); err != nil {
		return c.end(e, history.TypeFail, locks.Reason(err), err), err
	}
	return c.believe(e, held.lease), nil
}

// release ends the belief when it is called. An error is a fail if the lock reports that the lease was lost, and info
// otherwise: a node may have deleted the key although its reply was lost.
func (c *Client) release(ctx context.Context, held *heldLease) history.Type {
	held.superseded = true
	held.released.Store(true)
	e := c.begin(held.event(history.OpRelease))
	err := held.lease.Release(ctx)
	if err == nil {
		return c.end(e, history.TypeOK, "", nil)
	}
	outcome, reason := history.TypeInfo, locks.Reason(err)
	if reason == history.ReasonLost {
		outcome = history.TypeFail
	}
	return c.end(e, outcome, reason, err)
}

// check checks the lease. After a failed check, the lease's writes fail without a command to the store.
func (c *Client) check(held *heldLease) history.Type {
	e := c.begin(held.event(history.OpCheck))
	reason := ""
	switch {
	case held.lost.Load():
		reason = history.ReasonLost
	case held.lease.Validity() <= 0:
		reason = history.ReasonExpired
	default:
		return c.end(e, history.TypeOK, "", nil)
	}
	held.over = true
	return c.end(e, history.TypeFail, reason, nil)
}

// read reads within the key's latest lease, if any.
func (c *Client) read(ctx context.Context, key string, held *heldLease) history.Type {
	e := history.Event{Op: history.OpRead, Key: key}
	if held != nil {
		e = held.event(history.OpRead)
	}
	if !c.store.readsClaim() {
		e.Fence = 0 // the read does not send it to the store
	}
	e = c.begin(e)
	value, err := c.store.read(ctx, e.Key, held)
	if err != nil {
		_, reason := outcomeOf(err)
		return c.end(e, history.TypeFail, reason, err)
	}
	if held != nil {
		held.seen = value
	}
	e.Value = value
	return c.end(e, history.TypeOK, "", nil)
}

// write does not check the lease, like the client in Kleppmann's example.
func (c *Client) write(ctx context.Context, held *heldLease) history.Type {
	e := held.event(history.OpWrite)
	e.Value, e.Base = c.version(), held.seen
	e = c.begin(e)
	if held.over {
		return c.end(e, history.TypeFail, history.ReasonExpired, errors.New("the client saw that its lease was over"))
	}
	if err := c.store.write(ctx, held.key, e.Value, e.Base, held.fence); err != nil {
		outcome, reason := outcomeOf(err)
		return c.end(e, outcome, reason, err)
	}
	held.seen = e.Value
	return c.end(e, history.TypeOK, "", nil)
}

// watch starts the lock's watchdog, whose extensions are recorded as operations, and records the loss of the lease.
func (c *Client) watch(held *heldLease) error {
	if held.watched { // since its grant
		return nil
	}
	lease, ok := held.lease.(locks.Watchdog)
	if !ok {
		return fmt.Errorf("watch: the lock %s has no watchdog", c.setup.Lock)
	}
	c.watchLoss(held, lease.Watch(c.ctx, func(ctx context.Context) error {
		_, err := c.extend(ctx, held)
		return err
	}))
	return nil
}

// watchLoss records when the lease's own context ends, nil if it has none.
func (c *Client) watchLoss(held *heldLease, kept context.Context) {
	if kept == nil {
		return
	}
	held.watched = true
	c.running.Go(func() {
		select {
		case <-kept.Done():
			c.recordLoss(held, context.Cause(kept))
		case <-c.ctx.Done():
		}
	})
}

// followRenewals records an extension when a lease's known validity ends, if the lock has prolonged it meanwhile.
func (c *Client) followRenewals(held *heldLease, left time.Duration) {
	for ; left > 0; left = held.lease.Validity() {
		end := c.clock.newTimer(left, nil)
		select {
		case <-end.C():
		case <-c.ctx.Done():
			return
		}
		if held.released.Load() || held.lost.Load() || held.lease.Validity() <= 0 {
			return
		}
		c.believe(c.begin(held.event(history.OpExtend)), held.lease)
	}
}

func (c *Client) recordLoss(held *heldLease, cause error) {
	if held.released.Load() {
		return
	}
	held.lost.Store(true)
	// A cancelled extension ends before the loss, and so does a client that is closed at the same instant.
	if c.scheduler.Sleep(c.ctx, scheduler.Key{Class: scheduler.Loss, A: c.setup.Index, B: held.id}, 0) != nil {
		return
	}
	e := held.event("")
	e.Type, e.Error = history.TypeLost, c.text(cause)
	c.record(e)
}
