package external

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// bench is in-process servers on loopback with workers: enough for the protocol, so that every failure is the
// worker's.
type bench struct {
	nodes   []*miniredis.Miniredis
	store   *miniredis.Miniredis
	clock   realtime.Clock
	options locks.Options
	record  *process.Record
	workers process.Workers
	renews  bool            // the lock renews its key by itself
	ended   <-chan struct{} // its context has ended, which kills its workers
}

// password of the bench's servers, since a run's may have one.
const password = "worker-check"

// benchNodes is the default number of nodes in scenarios.
const benchNodes = 5

// stallLimit is the lateness from which workers of the bench must report a stall.
const stallLimit = 100 * time.Millisecond

// benchTTL is long, like the node timeout: no step waits for an expiry, and a busy machine must not make a lease
// expire. The pauses between tries are short: a step waits for them.
const benchTTL = 30 * time.Second

func newBench(ctx context.Context, command []string) (_ *bench, err error) {
	_, _ = process.Clean() // as each run does; lockproof clean reports its errors
	b := &bench{clock: realtime.Start(), ended: ctx.Done(),
		options: locks.Options{TTL: benchTTL, NodeTimeout: 2 * time.Second,
			RetryMin: 10 * time.Millisecond, RetryMax: 50 * time.Millisecond}.WithDefaults()}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	for range benchNodes + 1 {
		server, err := miniredis.Run()
		if err != nil {
			return nil, fmt.Errorf("cannot open a server on loopback: %w", err)
		}
		server.RequireAuth(password)
		server.ClockTTL(true)
		b.nodes = append(b.nodes, server)
	}
	b.nodes, b.store = b.nodes[:benchNodes], b.nodes[benchNodes]
	if b.record, err = process.NewRecord(); err != nil {
		return nil, err
	}
	b.workers.Command, b.workers.External = command, true
	context.AfterFunc(ctx, func() { _ = b.workers.Close() })
	return b, nil
}

func (b *bench) close() error {
	err := b.workers.Close()
	for _, server := range append(b.nodes, b.store) {
		if server != nil {
			server.Close()
		}
	}
	if err == nil && b.record != nil {
		err = b.record.Remove()
	}
	return err
}

func (b *bench) setup(index int) client.Setup {
	s := client.Setup{
		Name: fmt.Sprintf("c%d", index+1), Index: index, Lock: "under test", Options: b.options, Store: b.store.Addr(),
		Password: password, Seed: 1, Epoch: b.clock.Epoch(), Renews: b.renews, StallLimit: stallLimit,
	}
	for _, n := range b.nodes {
		s.Nodes = append(s.Nodes, n.Addr())
	}
	return s
}

// client starts a worker and waits for its hello.
func (b *bench) client(index int) (*testClient, error) { return b.spawn(b.setup(index)) }

func (b *bench) spawn(setup client.Setup) (*testClient, error) {
	m := &testClient{done: map[int]client.Message{}, changed: make(chan struct{}), ended: b.ended}
	m.name = setup.Name
	w, err := b.workers.Spawn(setup, m.onMessage)
	m.worker = w
	return m, err
}

// testClient is one worker on the bench with its messages.
type testClient struct {
	name   string
	worker *process.Worker
	serial int

	mu      sync.Mutex
	done    map[int]client.Message
	events  []history.Event
	failed  error
	changed chan struct{} // closed and replaced at each message
	ended   <-chan struct{}
}

func (m *testClient) onMessage(msg client.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case msg.Event != nil:
		m.events = append(m.events, *msg.Event)
	case msg.Done != 0:
		m.done[msg.Done] = msg
	case msg.Error != "" && m.failed == nil:
		m.failed = errors.New(msg.Error)
	}
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *testClient) send(cmd client.Command) (serial int, err error) {
	m.serial++
	cmd.Serial = m.serial
	return m.serial, m.worker.Send(cmd)
}

// until calls found after each message until it returns true; m.mu is held during the call.
func (m *testClient) until(within time.Duration, found func() bool) error {
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		m.mu.Lock()
		done, failed, changed := found(), m.failed, m.changed
		m.mu.Unlock()
		if done {
			return nil
		}
		if failed != nil {
			return failed
		}
		select {
		case <-changed:
		case <-m.ended:
			return context.Canceled
		case <-late.C:
			return errTimeout
		}
	}
}

var errTimeout = errors.New("no such message in time")

func (m *testClient) await(serial int, within time.Duration) (client.Message, error) {
	var end client.Message
	err := m.until(within, func() (ended bool) {
		end, ended = m.done[serial]
		return ended
	})
	if !errors.Is(err, errTimeout) {
		return end, err
	}
	err = fmt.Errorf(`%s did not report the end of command %d within %s: want {"done":%[2]d} with its outcome`,
		m.name, serial, within)
	if m.worker.Kill() == nil && m.worker.Unfinished() != "" {
		err = fmt.Errorf("%w; it wrote %q without a newline at its end", err, m.worker.Unfinished())
	}
	return end, err
}
