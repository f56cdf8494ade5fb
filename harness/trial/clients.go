package trial

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/nemesis"
)

// clientGroup is the clients of a run: it sends them commands, receives their messages and records their events.
type clientGroup struct {
	cluster client.Host
	record  func(history.Event)
	hung    bool // an operation did not return after its caller had given up

	mu          sync.Mutex
	members     map[string]*member
	serial      int
	replies     map[int]chan client.Message // by serial
	writtenKeys map[string]bool             // keys with a write to their register at the store
	failed      chan struct{}               // closed once a client itself has failed
	lock        *locks.Abilities            // abilities that a lease showed, nil if none did
}

var _ nemesis.ClientControl = (*clientGroup)(nil)

type member struct {
	worker        client.Worker
	killed        bool
	clock         map[bool]history.Event // its last clock events, by Wall
	granted       map[string]bool        // keys of its leases so far
	lastEventTime int64                  // the latest time of its events
	failed        error                  // the client itself failed, not the lock
	beforeResume  func() error           // nil: nothing
}

func newClientGroup(c client.Host, record func(history.Event)) *clientGroup {
	return &clientGroup{
		cluster: c, record: record, members: map[string]*member{}, replies: map[int]chan client.Message{},
		writtenKeys: map[string]bool{}, failed: make(chan struct{}),
	}
}

func (c *clientGroup) start(ctx context.Context, setup client.Setup) error {
	m := &member{clock: map[bool]history.Event{}, granted: map[string]bool{}}
	c.mu.Lock()
	c.members[setup.Name] = m
	c.mu.Unlock()
	w, err := c.cluster.Spawn(ctx, setup, func(msg client.Message) { c.receive(m, msg) })
	if err != nil {
		return fmt.Errorf("client %s: %w", setup.Name, err)
	}
	m.worker = w
	return nil
}

// receive handles one message of a client.
func (c *clientGroup) receive(m *member, msg client.Message) {
	if msg.Event != nil {
		c.mu.Lock()
		m.lastEventTime = max(m.lastEventTime, msg.Event.Time)
		if msg.Event.Op == history.OpWrite {
			c.writtenKeys[msg.Event.Key] = true
		}
		if msg.Event.Op == history.OpAcquire && msg.Event.Type == history.TypeOK {
			m.granted[msg.Event.Key] = true
		}
		if msg.Event.Type == history.TypeClock {
			m.clock[msg.Event.Clock.Wall] = *msg.Event
		}
		c.mu.Unlock()
		c.record(*msg.Event)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if msg.Lock != nil {
		c.lock = msg.Lock
		return
	}
	if msg.Done == 0 {
		if msg.Error != "" && !m.killed {
			c.fail(m, errors.New(msg.Error))
		}
		return
	}
	if done, ok := c.replies[msg.Done]; ok {
		delete(c.replies, msg.Done)
		done <- msg
	}
}

// errClientFailed ends all waits for clients once one of them has failed; firstFailure returns the reason.
var errClientFailed = errors.New("a client has failed")

// fail records the failure of a client itself; c.mu is held.
func (c *clientGroup) fail(m *member, err error) {
	if m.failed != nil {
		return // a consequence of the first failure
	}
	m.failed = err
	select {
	case <-c.failed:
	default:
		close(c.failed)
	}
}

// send sends a command to a client; the channel receives its result.
func (c *clientGroup) send(name string, cmd client.Command) (<-chan client.Message, error) {
	m, err := c.running(name)
	if err != nil {
		return nil, err
	}
	done := make(chan client.Message, 1)
	c.mu.Lock()
	c.serial++
	cmd.Serial = c.serial
	c.replies[cmd.Serial] = done
	c.mu.Unlock()
	if err := m.worker.Send(cmd); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if m.failed != nil {
			return nil, errClientFailed
		}
		return nil, fmt.Errorf("client %s: %w", name, err)
	}
	return done, nil
}

// wasGranted reports whether a client has had a lease on a key, or on any key if it is "".
func (c *clientGroup) wasGranted(name, key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.members[name]
	return m != nil && (m.granted[key] || key == "" && len(m.granted) > 0)
}

var errNoReply = errors.New("no reply")

// awaitReply waits for a command's result, and returns errNoReply after the limit.
func (c *clientGroup) awaitReply(ctx context.Context, name string, done <-chan client.Message,
	limit time.Duration) (client.Message, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case msg := <-done:
		if msg.Error != "" {
			return msg, fmt.Errorf("client %s: %s", name, msg.Error)
		}
		return msg, nil
	case <-c.failed:
		return client.Message{}, errClientFailed
	case <-timer.C:
		return client.Message{}, errNoReply
	case <-ctx.Done():
		return client.Message{}, ctx.Err()
	}
}

// giveUp kills a client whose operation has not returned although its caller has given up: the lock is to blame, and
// the history shows the rest.
func (c *clientGroup) giveUp(name string) error {
	c.hung = true
	return c.Kill(name)
}

// firstFailure returns an error of a client itself, not of its lock.
func (c *clientGroup) firstFailure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, m := range c.members {
		if m.failed != nil {
			return fmt.Errorf("client %s: %w", name, m.failed)
		}
	}
	return nil
}

// running returns a client that is not killed.
func (c *clientGroup) running(name string) (*member, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.members[name]
	switch {
	case m == nil || m.worker == nil:
		return nil, fmt.Errorf("there is no client %s", name)
	case m.killed:
		return nil, fmt.Errorf("client %s was killed, and does not come back", name)
	}
	return m, nil
}

// Pause suspends a client.
func (c *clientGroup) Pause(name string) error {
	m, err := c.running(name)
	if err != nil {
		return err
	}
	return m.worker.Pause()
}

// Resume continues a paused client.
func (c *clientGroup) Resume(name string) error {
	m, err := c.running(name)
	if err != nil {
		return err
	}
	if m.beforeResume != nil {
		err = m.beforeResume()
	}
	return errors.Join(err, m.worker.Resume())
}

// beforeResume sets what to do when a client is about to resume.
func (c *clientGroup) beforeResume(name string, do func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members[name].beforeResume = do
}

// Kill ends a client without a chance to clean up.
func (c *clientGroup) Kill(name string) error {
	m, err := c.running(name)
	if err != nil {
		return err
	}
	c.mu.Lock()
	m.killed = true
	c.mu.Unlock()
	return m.worker.Kill()
}

// LastEventTime is the true time of a client's latest event.
func (c *clientGroup) LastEventTime(name string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.members[name]; m != nil {
		return m.lastEventTime
	}
	return 0
}

// commandTimeout bounds a command that is not an operation of the lock.
const commandTimeout = 5 * time.Second

// command sends a command and waits for its result.
func (c *clientGroup) command(ctx context.Context, name string, cmd client.Command) (client.Message, error) {
	done, err := c.send(name, cmd)
	if err != nil {
		return client.Message{}, err
	}
	msg, err := c.awaitReply(ctx, name, done, commandTimeout)
	if !errors.Is(err, errNoReply) {
		return msg, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail(c.members[name], fmt.Errorf("its %s has not returned for %v", cmd.Do, commandTimeout))
	return msg, errClientFailed
}

// SetClock changes a client's clocks and reads them.
func (c *clientGroup) SetClock(ctx context.Context, name string, jump time.Duration,
	rate float64) (nemesis.Reading, error) {
	set := client.Command{Do: client.DoClock, Clock: &client.SetClock{Jump: jump, Rate: rate}}
	if _, err := c.command(ctx, name, set); err != nil {
		return nemesis.Reading{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	clock := c.members[name].clock
	wall, mono := clock[true], clock[false]
	if wall.Clock == nil || mono.Clock == nil {
		return nemesis.Reading{}, fmt.Errorf("client %s has not read its clocks", name)
	}
	return nemesis.Reading{True: wall.Time, Wall: wall.Clock.Reading, Rate: wall.Clock.Rate}, nil
}

// Starve makes the timers of a client's lock late.
func (c *clientGroup) Starve(ctx context.Context, name string) error {
	_, err := c.command(ctx, name, client.Command{Do: client.DoStarve})
	return err
}

// Feed runs the late timers and returns how late they were.
func (c *clientGroup) Feed(ctx context.Context, name string) (cluster.Late, error) {
	msg, err := c.command(ctx, name, client.Command{Do: client.DoFeed})
	if err != nil {
		return cluster.Late{}, err
	}
	if msg.Starved == nil {
		return cluster.Late{}, fmt.Errorf("client %s has not told what was late", name)
	}
	return *msg.Starved, nil
}

// close closes every client except killed and failed ones: the cluster ends these.
func (c *clientGroup) close() error {
	var closing errgroup.Group
	c.mu.Lock()
	for _, m := range c.members {
		if m.worker != nil && !m.killed && m.failed == nil {
			closing.Go(m.worker.Close)
		}
	}
	c.mu.Unlock()
	return closing.Wait()
}
