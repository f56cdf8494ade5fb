package realcluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/history"
)

// Timeout bounds every operation on a server. A busy engine can take seconds.
const Timeout = 30 * time.Second

// lookTimeout bounds a look into a node. It is long even for a busy machine, because a late look can be judged and a
// missing one cannot.
const lookTimeout = time.Second

// Node is one server.
type Node struct {
	Host
	Machine    *Machine
	bus        int // its port of a Redis Cluster's bus
	cluster    *Cluster
	name       string
	supervised bool
	As         cluster.Server // the cluster's node: this, or the kind's type around it

	op    sync.Mutex         // one fault at a time; it guards the rest
	disk  cluster.DiskFaults // in effect
	runID string             // of its latest server
	// serving: the server has answered, and was not ended since. wanted: a supervisor restarts it when it ends.
	serving, wanted bool
	restart         error // of the supervisor
}

func (n *Node) Name() string { return n.name }

// RunID is the run ID of the latest server.
func (n *Node) RunID() string { return n.runID }

// Address is the server's own address, which bypasses the links.
func (n *Node) Address() string {
	address, _ := n.Where(context.Background())
	return address
}

// Start restarts the node with its folder, and waits until a new server (by its run ID) answers with all data loaded.
func (n *Node) Start(ctx context.Context) error {
	return n.Do(ctx, "start", func(ctx context.Context) error {
		seen, err := n.State(ctx)
		if err == nil && !seen.Down {
			err = errors.New("it is running already")
		}
		if err != nil {
			return err
		}
		return n.start(ctx)
	})
}

func (n *Node) start(ctx context.Context) error {
	n.serving, n.wanted = false, false
	if err := n.Run(ctx); err != nil {
		return err
	}
	err := n.Ready(ctx)
	if err != nil { // it could still answer later, as a server that counts as down
		ctx, cancel := context.WithTimeout(context.Background(), Timeout)
		defer cancel()
		_ = n.Host.Kill(ctx)
	}
	return err
}

// Ready waits until a new server answers, configures its replication or membership, and points the links to it.
func (n *Node) Ready(ctx context.Context) error {
	if err := AwaitAnswer(ctx, n.Host); err != nil {
		return err
	}
	address, err := n.Where(ctx)
	if err != nil {
		return err
	}
	info, err := ReadInfo(ctx, address)
	if err == nil && info.RunID == n.runID {
		err = fmt.Errorf("the run id %s is that of the server before it", info.RunID)
	}
	if err != nil {
		return err
	}
	n.runID = info.RunID
	if err := n.cluster.rejoin(ctx, n); err != nil {
		return err
	}
	n.serving, n.wanted, n.restart = true, n.supervised, nil
	if n.supervised {
		n.cluster.busy.Go(n.supervise)
	}
	n.cluster.Move(n.name, address)
	return nil
}

// Polls of a starting server and their timeout. Polls of its host cost more, so they are rarer.
const (
	pollEvery     = 2 * time.Millisecond
	answerTimeout = 500 * time.Millisecond
	lookEvery     = 50 * time.Millisecond
)

// AwaitAnswer waits until a server answers.
func AwaitAnswer(ctx context.Context, h Host) error {
	looked := time.Now()
	err := realtime.Poll(ctx, pollEvery, func() (bool, error) {
		address, err := h.Where(ctx)
		if err != nil {
			return false, err
		}
		if address != "" && answers(ctx, address) {
			return true, nil
		}
		if time.Since(looked) <= lookEvery {
			return false, nil
		}
		looked = time.Now()
		seen, err := h.State(ctx)
		if err == nil && seen.Down {
			err = fmt.Errorf("its server ended with %s", seen.Exit)
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("%w; its last words: %s", err, h.Log(context.Background()))
	}
	return nil
}

// answers sends one PING, with a short timeout: packets to an ended container's address get no refusal. A server that
// is loading its data replies with an error.
func answers(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	reply, err := query(ctx, address, "PING")
	return err == nil && reply == "+PONG"
}

func (n *Node) Kill(ctx context.Context) error {
	return n.whileUp(ctx, "kill", func(ctx context.Context) error {
		err := n.Host.Kill(ctx)
		if err == nil {
			n.markDown()
		}
		return err
	})
}

func (n *Node) Shutdown(ctx context.Context) error {
	return n.reach(ctx, "shutdown", func(ctx context.Context, address string) error {
		err, how := shutdown(ctx, address, "SHUTDOWN"), ""
		if err == nil {
			how, err = n.AwaitExit(ctx)
		}
		if how != "" {
			err = fmt.Errorf("the server ended with %s", how)
		}
		if err != nil {
			return fmt.Errorf("%w; the end of its log: %s", err, n.Log(ctx))
		}
		n.markDown()
		return nil
	})
}

// markDown makes the links refuse connections to the server.
func (n *Node) markDown() {
	n.serving = false
	n.cluster.Move(n.name, "")
}

func (n *Node) Pause(ctx context.Context) error {
	return n.whileUp(ctx, "pause", n.Host.Pause)
}

func (n *Node) Resume(ctx context.Context) error {
	return n.whileUp(ctx, "resume", n.Host.Resume)
}

func (n *Node) Look(ctx context.Context) (history.Node, error) {
	if up, err := n.isUp(ctx); !up {
		return history.Node{}, n.failed("look into", err)
	}
	lookCtx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	address := n.Address()
	seen, err := look(lookCtx, address)
	if err == nil && n.cluster.cfg.Replicates(n.name) {
		seen.Replication, err = readReplication(lookCtx, address)
	}
	if err == nil {
		return seen, nil
	}
	if up, _ := n.isUp(ctx); !up || unreachable(err) || n.supervised {
		return history.Node{}, nil // it went down or was paused meanwhile, or is not up yet
	}
	return history.Node{}, n.failed("look into", err)
}

// isUp reports whether the server runs and is not paused.
func (n *Node) isUp(ctx context.Context) (bool, error) {
	seen, err := n.State(ctx)
	return err == nil && !seen.Down && !seen.Paused, err
}

// awake returns an error unless the server runs and is not paused.
func (n *Node) awake(ctx context.Context) error {
	seen, err := n.State(ctx)
	switch {
	case err != nil:
		return err
	case seen.Down:
		return cluster.ErrDown
	case seen.Paused:
		return errors.New("it is paused and cannot obey: resume it first")
	}
	return nil
}

func (n *Node) AwaitRestart(ctx context.Context) (bool, error) {
	if !n.supervised {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	err := realtime.Poll(ctx, pollEvery, func() (back bool, err error) {
		err = n.Do(ctx, "await the restart of", func(context.Context) error {
			back = n.serving
			return n.restart
		})
		return back, err
	})
	if err != nil && ctx.Err() != nil {
		err = n.failed("await the restart of", errors.Join(err, cluster.ErrDown))
	}
	return err == nil, err
}

// supervise waits for the end of the server, and restarts it unless its machine lost power or the nemesis has started
// it already.
func (n *Node) supervise() {
	if _, err := n.AwaitExit(n.cluster.life); err != nil {
		return
	}
	_ = n.Do(context.Background(), "restart", func(ctx context.Context) error {
		if seen, err := n.State(ctx); !n.wanted || err != nil || !seen.Down {
			return err
		}
		n.restart = n.start(ctx)
		return n.restart
	})
}

// reach calls do with the server's own address, for an operator, who bypasses the links.
func (n *Node) reach(ctx context.Context, what string, do func(ctx context.Context, addr string) error) error {
	return n.Do(ctx, what, func(ctx context.Context) error {
		if err := n.awake(ctx); err != nil {
			return err
		}
		return do(ctx, n.Address())
	})
}

// whileUp runs an operation on a server that runs.
func (n *Node) whileUp(ctx context.Context, what string, f func(context.Context) error) error {
	return n.Do(ctx, what, func(ctx context.Context) error {
		seen, err := n.State(ctx)
		if err == nil && seen.Down {
			err = cluster.ErrDown
		}
		if err != nil {
			return err
		}
		return f(ctx)
	})
}

// Do runs one operation on the node at a time. Its context ends with ctx, with the cluster or after Timeout.
func (n *Node) Do(ctx context.Context, what string, f func(context.Context) error) error {
	n.op.Lock()
	defer n.op.Unlock()
	if n.cluster.life.Err() != nil {
		return n.failed(what, process.ErrClosed)
	}
	ctx, cancel := n.cluster.bounded(ctx)
	defer cancel()
	return n.failed(what, f(ctx))
}

// failed adds the operation and the node to an error.
func (n *Node) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, n.name, err)
}
