package local

import (
	"context"
	"fmt"
	"time"

	"lockproof/harness/cluster/process"
	"lockproof/harness/cluster/server"
	"lockproof/harness/history"
)

// lookTimeout bounds a look into a node. It is long even for a machine that has
// much else to do: what comes late can be judged, what does not come cannot.
const lookTimeout = time.Second

// serverOf asks the server who it is, and makes sure that it is that process
// which answers.
func (n *node) serverOf(ctx context.Context, p *process.Process) (server.Info, error) {
	info, err := server.Who(ctx, n.addr)
	if pid := p.Identity().PID; err == nil && info.PID != pid {
		err = fmt.Errorf("%w: process %d answers at %s, not %d", errClash, info.PID, n.addr, pid)
	}
	return info, err
}

// Look reads the run id and the lock keys past every link. A node that is down
// or paused is not up; that is no error.
func (n *node) Look(ctx context.Context) (history.Node, error) {
	p, err := n.process()
	if err != nil || p.Stopped() {
		return history.Node{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	seen, err := server.Look(ctx, n.addr)
	if err == nil && n.c.cfg.Replicates(n.name) {
		seen.Replication, err = server.Replication(ctx, n.addr)
	}
	if err != nil && (!p.Running() || p.Stopped() || server.Unreachable(err)) {
		return history.Node{}, nil // it went down or was paused meanwhile, or is not up yet
	}
	return seen, n.failed("look into", err)
}

// Clock reads the node's wall clock, in nanoseconds since the run began as that
// clock counts them. Of a node that is down it is the one that a server would
// have.
func (n *node) Clock(ctx context.Context) (int64, error) {
	if _, err := n.process(); err != nil && n.shim != nil {
		now, err := n.shim.Now()
		return n.c.clock.Wall(time.Unix(0, now)), n.failed("read the clock of", err)
	}
	if _, err := n.awake(); err != nil {
		return 0, n.failed("read the clock of", err)
	}
	ctx, cancel := n.c.bounded(ctx)
	defer cancel()
	now, err := server.Time(ctx, n.addr)
	if err != nil {
		return 0, n.failed("read the clock of", err)
	}
	return n.c.clock.Wall(now), nil
}
