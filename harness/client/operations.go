package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

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
func (t *heldLease) event(op history.Op) history.Event {
	return history.Event{Op: op, Lease: t.id, Key: t.key, Token: t.token, Fence: t.fence}
}

// believesWall reports whether the lock counts its leases on the wall clock.
func believesWall(o locks.Options) bool {
	return slices.Contains(o.Without, string(redlock.MonotonicClock))
}

func (c *thread) operate(ctx context.Context, cmd Command) (history.Type, error) {
	if cmd.Do == DoAcquire {
		outcome, _ := c.acquire(ctx, cmd.Key)
		return outcome, nil
	}
	held := c.leaseOn(cmd.Key)
	if cmd.IfHeld && (held == nil || held.superseded) {
		return "", nil
	}
	if cmd.Do == DoRead {
		if held == nil && cmd.Key == "" {
			return "", errors.New("read: which key? There is no lease to take it from")
		}
		return c.read(ctx, cmd.Key, held), nil
	}
	if held == nil {
		return "", noLease(cmd)
	}
	switch cmd.Do {
	case DoExtend:
		outcome, _ := c.extend(ctx, held)
		return outcome, nil
	case DoRelease:
		return c.release(ctx, held), nil
	case DoCheck:
		return c.check(held), nil
	case DoWrite:
		return c.write(ctx, held), nil
	default:
		return "", c.watch(held)
	}
}

// leaseOn returns the latest lease on a key, or on any key if it is "".
func (c *thread) leaseOn(key string) *heldLease {
	if key == "" {
		return c.latest
	}
	return c.leases[key]
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
func (c *Client) text(err error) string { return c.hosts.Plain(err.Error(), c.setup.Nodes) }

// believe records a success with the lease's validity.
func (c *Client) believe(e history.Event, lease locks.Lease) history.Type {
	e.Type, e.Wall = history.TypeOK, c.wall
	c.measure(e, func(e *history.Event) { e.Validity = max(0, int64(lease.Validity())) })
	return history.TypeOK
}

// acquire records a failure as fail, even if a node may still have the key: the client knows that it holds no lease.
// It returns the lock's error.
func (c *thread) acquire(ctx context.Context, key string) (history.Type, error) {
	if earlier := c.leases[key]; earlier != nil {
		earlier.superseded = true
	}
	e := c.begin(history.Event{Op: history.OpAcquire, Key: key})
	lease, err := c.lock.Acquire(ctx, c.setup.KeyPrefix+key)
	if err != nil {
		return c.end(e, history.TypeFail, locks.Reason(err), err), err
	}
	t := &heldLease{lease: lease, id: e.ID, key: key, token: lease.Token(), fence: lease.Fence()}
	c.latest, c.leases[key] = t, t
	granted := t.event(history.OpAcquire)
	granted.ID = e.ID
	outcome := c.believe(granted, lease)
	if l, ok := lease.(locks.Watchable); ok {
		c.watchLoss(t, l.Context())
	}
	if l, ok := c.lock.(locks.Described); ok {
		c.describing.Do(func() { c.send(Message{Lock: l.Describe()}) })
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
func (c *Client) extend(ctx context.Context, t *heldLease) (history.Type, error) {
	e := c.begin(t.event(history.OpExtend))
	if err := t.lease.Extend(ctx); err != nil {
		return c.end(e, history.TypeFail, locks.Reason(err), err), err
	}
	return c.believe(e, t.lease), nil
}

// release ends the belief when it is called. An error is a fail if the lock reports that the lease was lost, and info
// otherwise: a node may have deleted the key although its reply was lost.
func (c *Client) release(ctx context.Context, t *heldLease) history.Type {
	t.superseded = true
	t.released.Store(true)
	e := c.begin(t.event(history.OpRelease))
	err := t.lease.Release(ctx)
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
func (c *Client) check(t *heldLease) history.Type {
	e := c.begin(t.event(history.OpCheck))
	reason := ""
	switch {
	case t.lost.Load():
		reason = history.ReasonLost
	case t.lease.Validity() <= 0:
		reason = history.ReasonExpired
	default:
		return c.end(e, history.TypeOK, "", nil)
	}
	t.over = true
	return c.end(e, history.TypeFail, reason, nil)
}

// read reads within the key's latest lease, if any.
func (c *Client) read(ctx context.Context, key string, t *heldLease) history.Type {
	e := history.Event{Op: history.OpRead, Key: key}
	if t != nil {
		e = t.event(history.OpRead)
	}
	if !c.store.readsClaim() {
		e.Fence = 0 // the read does not send it to the store
	}
	e = c.begin(e)
	value, err := c.store.read(ctx, e.Key, t)
	if err != nil {
		_, reason := outcomeOf(err)
		return c.end(e, history.TypeFail, reason, err)
	}
	if t != nil {
		t.seen = value
	}
	e.Value = value
	return c.end(e, history.TypeOK, "", nil)
}

// write does not check the lease, like the client in Kleppmann's example.
func (c *Client) write(ctx context.Context, t *heldLease) history.Type {
	e := t.event(history.OpWrite)
	e.Value, e.Base = c.version(), t.seen
	e = c.begin(e)
	if t.over {
		return c.end(e, history.TypeFail, history.ReasonExpired, errors.New("the client saw that its lease was over"))
	}
	if err := c.store.write(ctx, t.key, e.Value, e.Base, t.fence); err != nil {
		outcome, reason := outcomeOf(err)
		return c.end(e, outcome, reason, err)
	}
	t.seen = e.Value
	return c.end(e, history.TypeOK, "", nil)
}

// watch starts the lock's watchdog, whose extensions are recorded as operations, and records the loss of the lease.
func (c *Client) watch(t *heldLease) error {
	if t.watched { // since its grant
		return nil
	}
	kept := t.lease.Watch(c.ctx, func(ctx context.Context) error {
		_, err := c.extend(ctx, t)
		return err
	})
	if kept == nil {
		return fmt.Errorf("watch: the lock %s has no watchdog", c.setup.Lock)
	}
	c.watchLoss(t, kept)
	return nil
}

// watchLoss records when the lease's own context ends, nil if it has none.
func (c *Client) watchLoss(t *heldLease, kept context.Context) {
	if kept == nil {
		return
	}
	t.watched = true
	c.running.Go(func() {
		select {
		case <-kept.Done():
			c.recordLoss(t, context.Cause(kept))
		case <-c.ctx.Done():
		}
	})
}

func (c *Client) recordLoss(t *heldLease, cause error) {
	if t.released.Load() {
		return
	}
	t.lost.Store(true)
	// A cancelled extension ends before the loss, and so does a client that is closed at the same instant.
	if c.scheduler.Sleep(c.ctx, scheduler.Key{Class: scheduler.Loss, A: c.setup.Index, B: t.id}, 0) != nil {
		return
	}
	e := t.event("")
	e.Type, e.Error = history.TypeLost, c.text(cause)
	c.record(e)
}
