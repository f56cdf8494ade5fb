package external

import (
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

// bench is servers of this process on loopback, and workers that use them: enough for
// the protocol, and nothing that could be anybody's fault but the worker's.
type bench struct {
	nodes   []*miniredis.Miniredis
	store   *miniredis.Miniredis
	clock   realtime.Clock
	options locks.Options
	record  *process.Record
	workers process.Workers
	renews  bool // the lock was seen to renew its key by itself
}

// password is what the bench's servers ask for, as those of a run may.
const password = "worker-check"

// benchNodes is how many servers a lock has unless a scenario says otherwise.
const benchNodes = 5

// stallLimit is from when on workers of the bench are to tell of a stall.
const stallLimit = 100 * time.Millisecond

// benchTTL is long, and with it the timeout for one node: no step waits for a key to
// expire, and on a busy machine none may lose its lease to the machine.
const benchTTL = 30 * time.Second

func newBench(command []string) (b *bench, err error) {
	b = &bench{clock: realtime.Start(),
		options: locks.Options{TTL: benchTTL, NodeTimeout: 2 * time.Second}.WithDefaults()}
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
	b.workers.Command, b.workers.External, b.workers.Record = command, true, b.record
	return b, nil
}

// kill ends the workers at once.
func (b *bench) kill() { _ = b.workers.Close() }

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

// setup is that of a client on the bench.
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

// client starts a worker, and returns once it has said what its lock is.
func (b *bench) client(index int) (*testClient, error) {
	m := &testClient{done: map[int]client.Message{}, changed: make(chan struct{})}
	setup := b.setup(index)
	m.name = setup.Name
	w, err := b.workers.Spawn(setup, m.onMessage)
	m.worker = w
	return m, err
}

// testClient is one worker on the bench, with all that it has said.
type testClient struct {
	name   string
	worker *process.Worker
	serial int

	mu      sync.Mutex
	done    map[int]client.Message
	events  []history.Event
	failed  error
	changed chan struct{} // closed, and made anew, when it has said something
}

func (m *testClient) onMessage(said client.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case said.Event != nil:
		m.events = append(m.events, *said.Event)
	case said.Done != 0:
		m.done[said.Done] = said
	case said.Error != "" && m.failed == nil:
		m.failed = errors.New(said.Error)
	}
	close(m.changed)
	m.changed = make(chan struct{})
}

// send gives a command.
func (m *testClient) send(cmd client.Command) (serial int, err error) {
	m.serial++
	cmd.Serial = m.serial
	return m.serial, m.worker.Send(cmd)
}

// until waits for what is looked for in all that it has said; m.mu is held while it
// is looked for.
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
		case <-late.C:
			return errTimeout
		}
	}
}

var errTimeout = errors.New("it did not come")

// await waits for the end of a command.
func (m *testClient) await(serial int, within time.Duration) (client.Message, error) {
	var end client.Message
	err := m.until(within, func() (ended bool) {
		end, ended = m.done[serial]
		return ended
	})
	if errors.Is(err, errTimeout) {
		err = fmt.Errorf(`%s has not ended command %d for %s: what is right is {"done":%[2]d} with its outcome, `+
			`once it is over`,
			m.name, serial, within)
	}
	return end, err
}
