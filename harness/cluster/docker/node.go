package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/docker/proxy"
	"lockproof/harness/cluster/process"
	"lockproof/harness/cluster/server"
	"lockproof/harness/history"
)

// lookTimeout bounds a look into a node. It is long for loopback and short
// against a TTL.
const lookTimeout = 200 * time.Millisecond

// node is one server of a run.
type node struct {
	server.Operator
	cluster *Cluster
	*nodeContainer

	op   sync.Mutex // one fault at a time
	disk proxy.Disk // its faults in effect; op guards it
	left []string   // the networks that it was taken out of; op guards it
	// master is where a replica reaches the master that it follows whenever it is
	// started; "" of any other server.
	master string
}

var (
	_ cluster.Server  = (*node)(nil)
	_ cluster.Replica = (*node)(nil)
)

// Name is the node's name. An alias gives the name of its server.
func (n *node) Name() string { return n.service }

// renew gives the node a new server with the run's settings, on an empty disk and
// with a right clock: nothing of the run before can be left in it. The container
// lives on, if it lives.
func (n *node) renew(ctx context.Context) error {
	return n.do(ctx, "renew", func(ctx context.Context) error {
		machine, supervised, err := n.cluster.machine(n.service)
		if err != nil {
			return err
		}
		if err := n.supervise(ctx, supervised); err != nil {
			return err
		}
		seen, err := n.state(ctx)
		if err != nil {
			return err
		}
		if seen.State.Paused {
			if err := n.engine.ContainerUnpause(ctx, n.id); err != nil {
				return err
			}
		}
		if seen.State.Running && n.relieve(ctx, machine) == nil {
			return nil
		}
		// A server that does not obey, for whatever reason, goes with its
		// container.
		if _, err = n.running(ctx); err == nil {
			err = n.kill(ctx)
		}
		if err != nil && !errors.Is(err, cluster.ErrDown) {
			return err
		}
		if err := n.proxy.Renew(ctx, machine); err != nil {
			return err
		}
		return n.start(ctx)
	})
}

// relieveTimeout bounds the change of servers in a container that lives on.
const relieveTimeout = 5 * time.Second

// relieve has another server take the present one's place.
func (n *node) relieve(ctx context.Context, machine proxy.Machine) error {
	ctx, cancel := context.WithTimeout(ctx, relieveTimeout)
	defer cancel()
	if err := n.proxy.Retire(ctx, n.service); err != nil {
		return err
	}
	if err := server.Dismiss(ctx, n.outside); err != nil {
		return err
	}
	if err := n.proxy.Succeed(ctx, machine); err != nil {
		return err
	}
	return n.awaitReady(ctx)
}

// Start brings the node back, with its folder, and returns once a new server
// (by its run id) answers with all its data loaded.
func (n *node) Start(ctx context.Context) error {
	return n.do(ctx, "start", func(ctx context.Context) error {
		seen, err := n.state(ctx)
		if err != nil {
			return err
		}
		if seen.State.Running {
			return errors.New("it is running already")
		}
		if err := n.start(ctx); err != nil {
			return err
		}
		if n.master != "" {
			if err := server.Follow(ctx, n.outside, n.master); err != nil {
				return err
			}
		}
		if err := n.announce(ctx); err != nil {
			return err
		}
		return n.proxy.Move(ctx, n.service, n.inside)
	})
}

// Kill is SIGKILL. It returns once the container is seen to be down.
func (n *node) Kill(ctx context.Context) error {
	return n.do(ctx, "kill", func(ctx context.Context) error {
		if _, err := n.running(ctx); err != nil {
			return err
		}
		kill := n.kill
		if n.supervised {
			kill = n.killServer
		}
		if err := kill(ctx); err != nil {
			return err
		}
		return n.proxy.Move(ctx, n.service, "")
	})
}

// Shutdown is the SHUTDOWN command. It returns once the container is seen to be
// down.
func (n *node) Shutdown(ctx context.Context) error {
	return n.do(ctx, "shutdown", func(ctx context.Context) error {
		if err := n.awake(ctx); err != nil {
			return err
		}
		before, err := n.state(ctx)
		if err != nil {
			return err
		}
		if err := server.Shutdown(ctx, n.outside); err != nil {
			return fmt.Errorf("%w; the end of its log: %s", err, n.logTail(ctx))
		}
		if n.supervised { // how it ended is not known any more when it runs again
			return errors.Join(n.awaitEnd(ctx, before.State), n.proxy.Move(ctx, n.service, ""))
		}
		code, err := n.awaitExit(ctx)
		if err != nil {
			return err
		}
		if code != 0 {
			return fmt.Errorf("the server ended with status %d; the end of its log: %s", code, n.logTail(ctx))
		}
		return n.proxy.Move(ctx, n.service, "")
	})
}

// Pause is docker pause: the kernel's freezer stops every process of the
// container. It returns once the engine says so.
func (n *node) Pause(ctx context.Context) error {
	return n.freeze(ctx, "pause", true, n.engine.ContainerPause)
}

// Resume is docker unpause.
func (n *node) Resume(ctx context.Context) error {
	return n.freeze(ctx, "resume", false, n.engine.ContainerUnpause)
}

func (n *node) freeze(ctx context.Context, what string, want bool, do func(context.Context, string) error) error {
	return n.do(ctx, what, func(ctx context.Context) error {
		paused, err := n.running(ctx)
		if err != nil || paused == want {
			return err // a second pause changes nothing
		}
		if err := do(ctx, n.id); err != nil {
			return err
		}
		if paused, err = n.running(ctx); err == nil && paused != want {
			err = errors.New("the engine says that it did, and its state has not changed")
		}
		return err
	})
}

// Look reads the run id and the lock keys past every link. A node that is down
// or paused is not up; that is no error.
func (n *node) Look(ctx context.Context) (history.Node, error) {
	if paused, err := n.running(ctx); errors.Is(err, cluster.ErrDown) || paused {
		return history.Node{}, nil
	} else if err != nil {
		return history.Node{}, n.failed("look into", err)
	}
	n.op.Lock()
	away := len(n.left) > 0
	n.op.Unlock()
	if away {
		return history.Node{}, nil // nobody can tell
	}
	within, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	seen, err := server.Look(within, n.outside)
	if err == nil && n.cluster.cfg.Replicates(n.service) {
		seen.Replication, err = server.Replication(within, n.outside)
	}
	if err == nil {
		return seen, nil
	}
	paused, stateErr := n.running(ctx)
	if errors.Is(stateErr, cluster.ErrDown) || paused || server.Unreachable(err) || n.supervised {
		return history.Node{}, nil // it went down or was paused meanwhile, or is not up yet
	}
	return history.Node{}, n.failed("look into", err)
}

// running says whether the container is paused; the error is cluster.ErrDown if
// it does not run at all.
func (n *node) running(ctx context.Context) (paused bool, err error) {
	seen, err := n.state(ctx)
	if err != nil {
		return false, err
	}
	if down(seen.State) {
		return false, cluster.ErrDown
	}
	return seen.State.Paused, nil
}

// awake is an error unless the container runs and is not paused.
func (n *node) awake(ctx context.Context) error {
	paused, err := n.running(ctx)
	if err == nil && paused {
		err = errors.New("it is paused and cannot obey: resume it first")
	}
	return err
}

// reach is how an operator comes to the server, past every link.
func (n *node) reach(ctx context.Context, what string, do func(ctx context.Context, addr string) error) error {
	return n.do(ctx, what, func(ctx context.Context) error {
		if err := n.awake(ctx); err != nil {
			return err
		}
		return do(ctx, n.outside)
	})
}

// do does one fault at a time. It ends with ctx, with the cluster, and at the
// latest when containerTimeout is over.
func (n *node) do(ctx context.Context, what string, f func(context.Context) error) error {
	n.op.Lock()
	defer n.op.Unlock()
	if n.cluster.life.Err() != nil {
		return n.failed(what, process.ErrClosed)
	}
	ctx, cancel := context.WithTimeout(ctx, containerTimeout)
	defer cancel()
	stop := context.AfterFunc(n.cluster.life, cancel)
	defer stop()
	return n.failed(what, f(ctx))
}

// failed says which node could not do what, if err is not nil.
func (n *node) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, n.service, err)
}
