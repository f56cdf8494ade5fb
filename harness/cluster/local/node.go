package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/process"
	"lockproof/harness/cluster/server"
	"lockproof/harness/cluster/shim"
)

// node is one server: a place (an address, a folder, a disk and a clock) and the
// redis-server process that lives there at present, if any.
type node struct {
	server.Operator
	c    *Cluster
	name string
	dir  string
	disk string        // the folder in dir where the server keeps its data
	shim *shim.Control // nil where there is none
	port *port
	bus  *port // of a Redis Cluster's member; nil for others
	addr string

	op     sync.Mutex                      // one fault at a time
	closed bool                            // op guards it
	runID  string                          // of the latest process; op guards it
	proc   atomic.Pointer[process.Process] // the latest process, nil before the first
	keeper *supervisor                     // nil where there is none
}

var (
	_ cluster.Server  = (*node)(nil)
	_ cluster.Replica = (*node)(nil)
)

// newNode makes a place for a server.
func (c *Cluster) newNode(name string) (*node, error) {
	n := &node{c: c, name: name, dir: filepath.Join(c.folder, name)}
	n.Reach = n.reach
	if _, _, supervised := c.settings(name); supervised {
		n.keeper = &supervisor{node: n}
	}
	n.disk = filepath.Join(n.dir, "disk")
	if err := os.MkdirAll(n.disk, 0o700); err != nil {
		return nil, fmt.Errorf("node %s: %w", name, err)
	}
	if err := n.installShim(); err != nil {
		return nil, err
	}
	if err := n.move(); err != nil {
		n.giveUpPorts()
		return nil, errors.Join(err, n.removeShim())
	}
	return n, nil
}

// move gives the node a port that is free.
func (n *node) move() error {
	n.giveUpPorts()
	p, err := reservePort()
	if err != nil {
		return fmt.Errorf("node %s: %w", n.name, err)
	}
	n.port, n.addr = p, net.JoinHostPort("127.0.0.1", strconv.Itoa(p.number))
	persistence, more, _ := n.c.settings(n.name)
	text, err := settings(persistence, more, p.number, n.disk)
	if err != nil {
		return err
	}
	if n.c.cfg.RedisCluster && n.name != cluster.StoreName {
		if n.bus, err = reservePort(); err != nil {
			return fmt.Errorf("node %s: %w", n.name, err)
		}
		text += server.MemberSettings(n.bus.number)
	}
	return os.WriteFile(n.settingsFile(), []byte(text), 0o600)
}

func (n *node) giveUpPorts() {
	n.port.release()
	n.bus.release()
}

// settingsFile is the server's redis.conf.
func (n *node) settingsFile() string { return filepath.Join(n.dir, "redis.conf") }

// errClash says that another program has the node's port.
var errClash = errors.New("the port is taken")

// startFirst starts the node for the first time. A port that was taken by
// another program in the meantime is replaced; later the address is fixed.
func (n *node) startFirst(ctx context.Context) error {
	const tries = 5
	var err error
	for range tries {
		if err = n.Start(ctx); !errors.Is(err, errClash) {
			return err
		}
		if err := n.move(); err != nil {
			return err
		}
	}
	return err
}

// Name is the node's name. An alias gives the name of its server.
func (n *node) Name() string { return n.name }

// Start brings the node back, with the same address and folder, and returns
// once a new process (by its run id) answers with all its data loaded.
func (n *node) Start(ctx context.Context) error {
	ctx, cancel := n.c.bounded(ctx)
	defer cancel()
	n.op.Lock()
	defer n.op.Unlock()
	return n.start(ctx)
}

// start is Start for who holds op.
func (n *node) start(ctx context.Context) error {
	if n.closed {
		return n.failed("start", process.ErrClosed)
	}
	if p := n.proc.Load(); p != nil && p.Running() {
		return n.failed("start", errors.New("it is running already"))
	}
	p, err := n.spawn()
	if err != nil {
		return n.failed("start", err)
	}
	n.proc.Store(p)
	info, err := n.awaitReady(ctx, p)
	if err != nil {
		return n.failed("start", errors.Join(err, p.Kill()))
	}
	if info.RunID == n.runID {
		return n.failed("start", fmt.Errorf("the run id %s is that of the process before it", info.RunID))
	}
	n.runID = info.RunID
	n.keeper.watch(p)
	return nil
}

// logFile takes what the server's processes say.
func (n *node) logFile() string { return filepath.Join(n.dir, "redis.log") }

// spawn starts a redis-server.
func (n *node) spawn() (*process.Process, error) {
	log, err := os.OpenFile(n.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(n.c.server.file, n.settingsFile())
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.disk, log, log
	if n.shim != nil {
		cmd.Env = append(os.Environ(), n.shim.Environment(n.c.library)...)
	}
	return process.Launch(n.name, cmd, n.c.record)
}

// awaitReady waits until the process answers a PING. While it loads its data
// it answers that with an error, so readiness includes that.
func (n *node) awaitReady(ctx context.Context, p *process.Process) (server.Info, error) {
	for {
		if reply, err := server.Query(ctx, n.addr, "PING"); err == nil && reply == "+PONG" {
			return n.serverOf(ctx, p)
		}
		select {
		case <-p.Gone():
			log := process.Tail(n.logFile())
			if strings.Contains(log, "Address already in use") {
				return server.Info{}, fmt.Errorf("%w: %s", errClash, n.addr)
			}
			return server.Info{}, fmt.Errorf("redis-server ended with %s; its last words: %s", p.How(), log)
		case <-ctx.Done():
			return server.Info{}, fmt.Errorf("no answer from %s: %w; the end of its log: %s", n.addr, ctx.Err(), process.Tail(n.logFile()))
		case <-time.After(process.PollEvery):
		}
	}
}

// Kill is SIGKILL. It returns once the process is gone.
func (n *node) Kill(context.Context) error {
	n.op.Lock()
	defer n.op.Unlock()
	p, err := n.process()
	if err == nil {
		err = p.Kill()
	}
	return n.failed("kill", err)
}

// Shutdown is the SHUTDOWN command. It returns once the process is gone.
func (n *node) Shutdown(ctx context.Context) error {
	ctx, cancel := n.c.bounded(ctx)
	defer cancel()
	n.op.Lock()
	defer n.op.Unlock()
	return n.failed("shutdown", n.shutdown(ctx))
}

func (n *node) shutdown(ctx context.Context) error {
	p, err := n.awake()
	if err != nil {
		return err
	}
	if err := server.Shutdown(ctx, n.addr); err != nil {
		return fmt.Errorf("%w; the end of its log: %s", err, process.Tail(n.logFile()))
	}
	if err := p.AwaitExit(ctx); err != nil {
		return err
	}
	if p.Exit() != nil {
		return fmt.Errorf("redis-server ended with %s; the end of its log: %s", p.How(), process.Tail(n.logFile()))
	}
	return nil
}

// Pause is SIGSTOP. It returns once the process is seen to be stopped.
func (n *node) Pause(ctx context.Context) error {
	n.op.Lock()
	defer n.op.Unlock()
	p, err := n.process()
	if err == nil {
		err = p.Pause(ctx)
	}
	return n.failed("pause", err)
}

// Resume is SIGCONT. It returns once the process is seen to be going on.
func (n *node) Resume(ctx context.Context) error {
	n.op.Lock()
	defer n.op.Unlock()
	p, err := n.process()
	if err == nil {
		err = p.Resume(ctx)
	}
	return n.failed("resume", err)
}

// process is the running one; the error is cluster.ErrDown if there is none.
func (n *node) process() (*process.Process, error) {
	if p := n.proc.Load(); p != nil && p.Running() {
		return p, nil
	}
	return nil, cluster.ErrDown
}

// awake is the running process, if it is not paused either.
func (n *node) awake() (*process.Process, error) {
	p, err := n.process()
	if err == nil && p.Stopped() {
		err = errors.New("it is paused and cannot obey: resume it first")
	}
	return p, err
}

// reach is how an operator comes to the server, past every link.
func (n *node) reach(ctx context.Context, what string, do func(ctx context.Context, addr string) error) error {
	ctx, cancel := n.c.bounded(ctx)
	defer cancel()
	n.op.Lock()
	defer n.op.Unlock()
	if _, err := n.awake(); err != nil {
		return n.failed(what, err)
	}
	return n.failed(what, do(ctx, n.addr))
}

// close ends the server for good and gives up its port.
func (n *node) close() error {
	n.op.Lock()
	defer n.op.Unlock()
	n.closed = true
	n.giveUpPorts()
	var err error
	if p, down := n.process(); down == nil {
		err = p.Kill()
	}
	return errors.Join(err, n.removeShim())
}

// failed says which node could not do what, if err is not nil.
func (n *node) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, n.name, err)
}

// bounded gives a context that ends with ctx, with the cluster, and at the
// latest when process.Timeout is over.
func (c *Cluster) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, process.Timeout)
	stop := context.AfterFunc(c.life, cancel)
	return ctx, func() { stop(); cancel() }
}
