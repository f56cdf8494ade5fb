package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// ErrWrong is Check's error for a worker that breaks the protocol.
var ErrWrong = errors.New("the worker does not keep to the protocol")

// replyTimeout bounds a worker's time beyond an operation's own timeout.
const replyTimeout = 3 * time.Second

// Check tests a worker's protocol without faults, and writes a line for each step. Its servers work correctly, so
// every failure is the worker's.
func Check(ctx context.Context, command []string, out io.Writer) (err error) {
	if err := findProgram(command); err != nil {
		return err
	}
	b, err := newBench(ctx, command)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	c := &check{bench: b, out: out}
	for _, s := range c.all() {
		if why := c.unsupported(s.needs); why != "" {
			fmt.Fprintf(out, "skip    %s: %s\n", s.what, why)
			continue
		}
		err := s.do()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(out, "failed  %s: %v\n", s.what, err)
			return ErrWrong // later failures would be consequences
		}
		fmt.Fprintf(out, "ok      %s\n", s.what)
	}
	return nil
}

// check tests one worker, with a second one for contention.
type check struct {
	bench  *bench
	out    io.Writer
	hello  *locks.Abilities
	c1, c2 *testClient
}

type step struct {
	what  string
	needs locks.Feature
	do    func() error
}

func (c *check) all() []step {
	const short, long = 300 * time.Millisecond, 2 * time.Second
	first := func(do client.Do, want history.Type) func() error {
		return func() error { return c.operate(c.c1, client.Command{Do: do, Key: "k1", Within: long}, want) }
	}
	refused := func() error {
		return c.operate(c.c2, client.Command{Do: client.DoAcquire, Key: "k1", Within: short}, history.TypeFail)
	}
	return []step{
		{"start: it sends its hello", "", c.start},
		{"acquire: a free key is granted", "", first(client.DoAcquire, history.TypeOK)},
		{"check: the lease is valid", "", first(client.DoCheck, history.TypeOK)},
		{"read: the register is read", "", first(client.DoRead, history.TypeOK)},
		{"write: the store accepts a new version", "", first(client.DoWrite, history.TypeOK)},
		{"write: the new version is in the store", "", c.checkStore},
		{"extend: the lease is extended", locks.FeatureExtend, first(client.DoExtend, history.TypeOK)},
		{"acquire: a held key is refused in time", "", refused},
		{"acquire: a held key is free behind another key_prefix", "", c.prefixed},
		{"release: the lease is released, and only then a waiting client is granted the key", "", c.handOver},
		{"release with if_held: a released lease is skipped", "", func() error {
			return c.operate(c.c1, client.Command{Do: client.DoRelease, Key: "k1", IfHeld: true, Within: long}, "")
		}},
		{"cancel: a waiting acquire ends", locks.FeatureCancel, c.cancel},
		{"clock: both clocks are set", locks.FeatureClock, c.clock},
		{"stall: it is reported after SIGSTOP", "", c.stall},
		{"loop and stop: the loop ends after its current round", "", c.loop},
		{"exit: it ends with status 0", "", func() error { return errors.Join(c.c1.worker.Close(), c.c2.worker.Close()) }},
	}
}

// unsupported returns why the lock lacks a feature, "" if it has it.
func (c *check) unsupported(what locks.Feature) string {
	if what == "" {
		return ""
	}
	has := map[locks.Feature]bool{locks.FeatureExtend: c.hello.Extends, locks.FeatureClock: c.hello.OwnClock,
		locks.FeatureCancel: true}[what]
	if why := c.hello.Unsupported[what]; why != "" || has {
		return why
	}
	return "its hello does not say that the lock can"
}

func (c *check) start() (err error) {
	if c.c1, err = c.bench.client(0); err != nil {
		return err
	}
	c.hello = c.c1.worker.Hello()
	c.c2, err = c.bench.client(1)
	return err
}

// operate runs one operation and checks its outcome.
func (c *check) operate(m *testClient, cmd client.Command, want history.Type) error {
	serial, err := m.send(cmd)
	if err != nil {
		return err
	}
	return m.checkOutcome(serial, cmd.Within+replyTimeout, want)
}

func (m *testClient) checkOutcome(serial int, within time.Duration, want history.Type) error {
	end, err := m.await(serial, within)
	switch {
	case err != nil:
		return err
	case end.Error != "":
		return fmt.Errorf("%s calls the command impossible: %s", m.name, end.Error)
	case end.Outcome != want:
		return fmt.Errorf("%s: the operation ended with %q; want %q%s", m.name, end.Outcome, want, m.lastReason())
	}
	return nil
}

// latest is the latest event of an operation, or of one of these: a stall may come at any time, and an extension when
// the lock renews its key. m.mu is held.
func (m *testClient) latest(ops ...history.Op) (latest history.Event) {
	for _, e := range m.events {
		if e.Op != "" && (len(ops) == 0 || slices.Contains(ops, e.Op)) {
			latest = e
		}
	}
	return latest
}

// lastReason is the worker's reason for the failure of its latest operation.
func (m *testClient) lastReason() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.latest()
	switch why := cmp.Or(last.Error, last.Reason); last.Type {
	case history.TypeFail, history.TypeInfo:
		return "; its reason is: " + cmp.Or(why, "none")
	}
	return ""
}

func (c *check) checkStore() error {
	if got, _ := c.bench.store.Get(client.Register("k1")); got != "c1.1" {
		return fmt.Errorf(`%s at the store is %q; want "c1.1", the first version of c1`, client.Register("k1"), got)
	}
	return nil
}

// prefixed acquires a held key as another version of the lock, which a worker that ignores key_prefix is refused.
func (c *check) prefixed() error {
	setup := c.bench.setup(2)
	setup.KeyPrefix = "v2:"
	c3, err := c.bench.spawn(setup)
	if err != nil {
		return err
	}
	err = c.operate(c3, client.Command{Do: client.DoAcquire, Key: "k1", Within: 2 * time.Second}, history.TypeOK)
	return errors.Join(err, c3.worker.Kill())
}

// beginWaiting lets the second client wait for a key that the first one holds.
func (c *check) beginWaiting(acquire client.Command) (serial int, err error) {
	if serial, err = c.c2.send(acquire); err != nil {
		return 0, err
	}
	return serial, c.c2.until(replyTimeout, func() bool {
		last := c.c2.latest()
		return last.Type == history.TypeInvoke && last.Key == acquire.Key
	})
}

// handOver releases a key for which the other client waits. If the grant's time were that of its call, leases that
// follow one another would overlap.
func (c *check) handOver() error {
	acquire := client.Command{Do: client.DoAcquire, Key: "k1", Within: 20 * time.Second}
	serial, err := c.beginWaiting(acquire)
	if err != nil {
		return err
	}
	released := c.bench.clock.Now()
	if err := c.operate(c.c1, client.Command{Do: client.DoRelease, Within: replyTimeout}, history.TypeOK); err != nil {
		return err
	}
	if err := c.c2.checkOutcome(serial, acquire.Within+replyTimeout, history.TypeOK); err != nil {
		return err
	}
	c.c2.mu.Lock()
	granted := c.c2.latest(history.OpAcquire)
	c.c2.mu.Unlock()
	if granted.Time < released {
		return fmt.Errorf("c2's grant has a time %s before c1 was told to release: read the time of an outcome after the "+
			"call", time.Duration(released-granted.Time))
	}
	return nil
}

func (c *check) cancel() error {
	acquire := client.Command{Do: client.DoAcquire, Key: "k2", Within: 20 * time.Second}
	if err := c.operate(c.c1, acquire, history.TypeOK); err != nil {
		return err
	}
	serial, err := c.beginWaiting(acquire)
	if err != nil {
		return err
	}
	if err := c.operate(c.c2, client.Command{Do: client.DoCancel}, ""); err != nil {
		return err
	}
	return c.c2.checkOutcome(serial, replyTimeout, history.TypeFail)
}

func (c *check) clock() error {
	return c.operate(c.c1, client.Command{Do: client.DoClock, Clock: &client.SetClock{Jump: time.Second, Rate: 1.1}}, "")
}

// stall pauses a worker, which must then report a stall.
func (c *check) stall() error {
	const lasts = 5 * stallLimit
	if err := c.c1.worker.Pause(); err != nil {
		return err
	}
	time.Sleep(lasts)
	if err := c.c1.worker.Resume(); err != nil {
		return err
	}
	err := c.c1.until(replyTimeout, func() bool {
		for _, e := range c.c1.events {
			if e.Type == history.TypeStall && e.Late >= int64(lasts/2) {
				return true
			}
		}
		return false
	})
	if errors.Is(err, errTimeout) {
		return fmt.Errorf("c1 was stopped for %s and did not report a stall, although stall_limit is %s: "+
			`want {"event":{"time":...,"process":"c1","type":"stall","late":400000000}}`, lasts, stallLimit)
	}
	return err
}

func (c *check) loop() error {
	serial, err := c.c1.send(client.Command{Do: client.DoLoop,
		Loop: &client.Loop{Keys: []string{"k3"}, Hold: 20 * time.Millisecond, Think: 10 * time.Millisecond}})
	if err != nil {
		return err
	}
	time.Sleep(stallLimit)
	if err := c.operate(c.c1, client.Command{Do: client.DoStop}, ""); err != nil {
		return err
	}
	return c.c1.checkOutcome(serial, replyTimeout, "")
}
