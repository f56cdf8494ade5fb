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
	"sync/atomic"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/cluster/realcluster"
)

// host is a server's machine with its address, and its current redis-server process, if any.
type host struct {
	c         *Cluster
	name      string
	machine   *realcluster.Machine
	port      *port
	bus       *port // of a Redis Cluster; nil for a Sentinel
	addr      string
	arguments []string                        // of redis-server, after the settings' file
	proc      atomic.Pointer[process.Process] // the latest process, nil before the first
}

var _ realcluster.Host = (*host)(nil)

// newHost makes a host, without settings.
func (c *Cluster) newHost(name string) (h *host, err error) {
	h = &host{c: c, name: name, machine: &realcluster.Machine{Folder: filepath.Join(c.record.Folder(), name)}}
	c.hosts = append(c.hosts, h)
	if h.port, err = reservePort(); err != nil {
		return nil, fmt.Errorf("node %s: %w", name, err)
	}
	h.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(h.port.number))
	return h, nil
}

func (c *Cluster) newServer(name string) (h *host, err error) {
	if h, err = c.newHost(name); err != nil {
		return nil, err
	}
	if h.bus, err = reservePort(); err != nil {
		return nil, fmt.Errorf("node %s: %w", name, err)
	}
	return h, h.reset("loglevel notice\n"+c.Settings(name, h.bus.number), c.library != "")
}

func (c *Cluster) newSentinel(name string) (*host, error) {
	h, err := c.newHost(name)
	if err != nil {
		return nil, err
	}
	h.arguments = []string{"--sentinel"}
	return h, h.reset(realcluster.SentinelSettings(), false)
}

// reset writes redis.conf. The server logs to stdout, which is a file and so includes messages from before it
// reads its settings.
func (h *host) reset(more string, shimmed bool) error {
	text := fmt.Sprintf("bind 127.0.0.1\nport %d\nprotected-mode no\ndaemonize no\ndir %q\nlogfile \"\"\n%s",
		h.port.number, h.machine.Disk(), more)
	if err := h.machine.Reset(text, shimmed); err != nil {
		return fmt.Errorf("node %s: %w", h.name, err)
	}
	return nil
}

func (h *host) logFile() string { return filepath.Join(h.machine.Folder, "redis.log") }

func (h *host) Where(context.Context) (string, error) { return h.addr, nil }

func (h *host) State(context.Context) (realcluster.State, error) {
	p := h.proc.Load()
	switch {
	case p == nil:
		return realcluster.State{Down: true}, nil
	case !p.Running():
		return realcluster.State{Down: true, Exit: p.How()}, nil
	}
	return realcluster.State{Paused: p.Stopped()}, nil
}

func (h *host) Run(context.Context) error {
	log, err := os.OpenFile(h.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(h.c.server.file, append([]string{h.machine.SettingsFile()}, h.arguments...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = h.machine.Disk(), log, log
	if shim := h.machine.Control(); shim != nil {
		cmd.Env = append(os.Environ(), shim.Environment(h.c.library)...)
	}
	p, err := process.Launch(h.name, cmd)
	if err != nil {
		return err
	}
	h.proc.Store(p)
	return nil
}

func (h *host) Kill(context.Context) error { return h.proc.Load().Kill() }

func (h *host) AwaitExit(ctx context.Context) (how string, err error) {
	p := h.proc.Load()
	select {
	case <-p.Gone():
	case <-ctx.Done():
		return "", fmt.Errorf("it has not ended: %w", ctx.Err())
	}
	if p.Exit() != nil {
		how = p.How()
	}
	return how, nil
}

func (h *host) Pause(ctx context.Context) error { return h.proc.Load().Pause(ctx) }

func (h *host) Resume(ctx context.Context) error { return h.proc.Load().Resume(ctx) }

func (h *host) Log(context.Context) string { return process.Tail(h.logFile()) }

// Shimmed returns an error if the shim is missing or not in effect.
func (h *host) Shimmed(a *cluster.Ability) error {
	control := h.machine.Control()
	if control == nil {
		return lacks(a)
	}
	p := h.proc.Load()
	if p == nil || !p.Running() {
		return nil // the next process is checked then
	}
	if under, err := control.Commands(p.PID()); under || err != nil {
		return err
	}
	return &cluster.Unsupported{Cluster: cluster.Local, Needs: a, Why: h.c.server.file + " does not load the preload shim",
		How: "use a server that is linked dynamically, as distributions have it"}
}

// close ends the server and releases its ports.
func (h *host) close() error {
	h.port.release()
	h.bus.release()
	var errs []error
	if p := h.proc.Load(); p != nil && p.Running() {
		errs = append(errs, p.Kill())
	}
	return errors.Join(append(errs, h.machine.Close())...)
}
