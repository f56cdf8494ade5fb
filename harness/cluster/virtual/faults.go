package virtual

import (
	"context"
	"fmt"
	"time"

	"example.org/lockproof/harness/cluster/virtual/scheduler"
)

// Kill ends the server at once. Commands that it has not executed are lost;
// replies that it has sent arrive, and after them the end of its connections.
func (n *Node) Kill(context.Context) error {
	return n.stop("kill", func() { n.disk.kill() })
}

// Shutdown ends the server as the SHUTDOWN command does. A master waits until its replicas
// have acknowledged every write, within shutdown-timeout, 10 s.
func (n *Node) Shutdown(ctx context.Context) error {
	n.mu.Lock()
	paused := n.server != nil && n.paused
	n.mu.Unlock()
	if paused {
		return n.cannot("shutdown")
	}
	const step, timeout = time.Millisecond, 10 * time.Second
	for waited := time.Duration(0); waited < timeout && n.replicasLag(waited == 0); waited += step {
		if err := n.scheduler.Sleep(ctx, scheduler.Key{Class: scheduler.Script}, step); err != nil {
			return err
		}
	}
	return n.stop("shutdown", func() { n.disk.shutdown(n.now()) })
}

// PowerLoss ends the server and its machine. lost is the length in RESP of the lost acknowledged writes.
func (n *Node) PowerLoss(context.Context) (lost int64, err error) {
	err = n.stop("cut the power of", func() { lost = n.disk.powerLoss() })
	return lost, err
}

// stop ends the server; disk applies the effect on its writes.
func (n *Node) stop(what string, disk func()) error {
	n.mu.Lock()
	if n.server == nil {
		defer n.mu.Unlock()
		return n.cannot(what)
	}
	if !n.paused {
		n.advance()
	}
	disk()
	n.running = running{}
	conns := n.conns
	n.conns = map[*conn]bool{}
	n.mu.Unlock()

	for k := range conns {
		k.Conn.Close()
	}
	return nil
}

// Start restarts the node with its disk's keys.
func (n *Node) Start(context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server != nil {
		return fmt.Errorf("start %s: it is running already", n.name)
	}
	if n.ended {
		return fmt.Errorf("start %s: its cluster is closed", n.name)
	}
	n.start()
	return nil
}

// Pause stops the server. It accepts connections, as a stopped process's kernel does, but does not answer. Replies in
// transit arrive.
func (n *Node) Pause(context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server == nil {
		return n.cannot("pause")
	}
	if n.paused {
		return nil
	}
	n.advance()
	n.paused = true
	return nil
}

// Resume continues the server: it executes the commands that arrived in the meantime, in the order of arrival.
func (n *Node) Resume(context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server == nil {
		return n.cannot("resume")
	}
	if !n.paused {
		return nil
	}
	n.paused = false
	n.resumeTimers()
	n.scheduleExecutor()
	return nil
}

// end stops the node for good.
func (n *Node) end() {
	n.mu.Lock()
	up := n.server != nil
	n.ended = true
	n.mu.Unlock()
	if up {
		n.stop("end", func() {}) // it is up, so this cannot fail
	}
}
