package local

import (
	"context"
	"errors"
	"sync"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/process"
)

// supervisor starts a node's server again as soon as it has died, whatever it
// died of, as systemd does with Restart=always and RestartSec=0. It runs on the
// node's machine: a power loss takes it down as well, until the node is started.
// The methods of a nil supervisor do nothing.
type supervisor struct {
	node *node

	mu     sync.Mutex
	charge *process.Process // whose death it waits for; nil: nobody's
	failed error            // why it could not start the server again
}

var _ cluster.Supervised = (*node)(nil)

// watch waits for the death of a process. The caller holds the node's op.
func (s *supervisor) watch(p *process.Process) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.charge, s.failed = p, nil
	s.mu.Unlock()
	c := s.node.c
	c.busy.Go(func() {
		select {
		case <-p.Gone():
			s.restart(p)
		case <-c.life.Done():
		}
	})
}

// stop ends the watch. The caller holds the node's op.
func (s *supervisor) stop() {
	if s != nil {
		s.mu.Lock()
		s.charge = nil
		s.mu.Unlock()
	}
}

func (s *supervisor) restart(dead *process.Process) {
	n := s.node
	ctx, cancel := n.c.bounded(context.Background())
	defer cancel()
	n.op.Lock()
	defer n.op.Unlock()
	s.mu.Lock()
	off := s.charge != dead
	s.mu.Unlock()
	if off || n.closed {
		return
	}
	if err := n.start(ctx); err != nil {
		s.mu.Lock()
		s.failed = err
		s.mu.Unlock()
	}
}

func (s *supervisor) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// AwaitRestart returns once the supervisor has brought the node back that was
// killed or shut down; false at once if it has none.
func (n *node) AwaitRestart(ctx context.Context) (bool, error) {
	if n.keeper == nil {
		return false, nil
	}
	ctx, cancel := n.c.bounded(ctx)
	defer cancel()
	for {
		n.op.Lock() // a start under way has it
		_, down := n.process()
		n.op.Unlock()
		if down == nil {
			return true, nil
		}
		if err := n.keeper.failure(); err != nil {
			return false, err
		}
		select {
		case <-time.After(process.PollEvery):
		case <-ctx.Done():
			return false, n.failed("await the restart of", errors.Join(ctx.Err(), down))
		}
	}
}
