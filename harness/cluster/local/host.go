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
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/cluster/realcluster"
	"example.org/lockproof/harness/cluster/shim"
)

// host is a server's machine (address, folder, disk and clock) and its current redis-server process, if any.
type host struct {
	c         *Cluster
	name      string
	dir       string
	disk      string        // the folder in dir for the server's data
	shim      *shim.Control // nil without a shim
	port      *port
	bus       *port // of a Redis Cluster; nil for a Sentinel
	addr      string
	arguments []string                        // of redis-server, after the settings' file
	proc      atomic.Pointer[process.Process] // the latest process, nil before the first
}

var _ realcluster.Host = (*host)(nil)

// newHost makes a host, without settings.
func (c *Cluster) newHost(name string) (h *host, err error) {
	h = &host{c: c, name: name, dir: filepath.Join(c.record.Folder(), name)}
	h.disk = filepath.Join(h.dir, "disk")
	c.hosts = append(c.hosts, h)
	if err := os.MkdirAll(h.disk, 0o700); err != nil {
		return nil, fmt.Errorf("node %s: %w", name, err)
	}
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
	if c.library != "" {
		// The shim's control is the machine's clock and disk, so it outlives the server's processes.
		if h.shim, err = shim.Create(filepath.Join(h.dir, "control")); err != nil {
			return nil, err
		}
	}
	if h.bus, err = reservePort(); err != nil {
		return nil, fmt.Errorf("node %s: %w", name, err)
	}
	// A master writes a replica's copy to a file. By default it streams the copy, after five seconds of waiting for more
	// replicas.
	return h, h.writeSettings("loglevel notice\nrepl-diskless-sync no\n" + c.Settings(name, h.bus.number))
}

func (c *Cluster) newSentinel(name string) (*host, error) {
	h, err := c.newHost(name)
	if err != nil {
		return nil, err
	}
	h.arguments = []string{"--sentinel"}
	return h, h.writeSettings(realcluster.SentinelSettings())
}

// writeSettings writes redis.conf. The server logs to stdout, which is a file and so includes messages from before it
// reads its settings.
func (h *host) writeSettings(more string) error {
	text := fmt.Sprintf("bind 127.0.0.1\nport %d\nprotected-mode no\ndaemonize no\ndir %q\nlogfile \"\"\n%s",
		h.port.number, h.disk, more)
	return os.WriteFile(h.settingsFile(), []byte(text), 0o600)
}

func (h *host) settingsFile() string { return filepath.Join(h.dir, "redis.conf") }

func (h *host) logFile() string { return filepath.Join(h.dir, "redis.log") }

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
	cmd := exec.Command(h.c.server.file, append([]string{h.settingsFile()}, h.arguments...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = h.disk, log, log
	if h.shim != nil {
		cmd.Env = append(os.Environ(), h.shim.Environment(h.c.library)...)
	}
	p, err := process.Launch(h.name, cmd, h.c.record)
	if err != nil {
		return err
	}
	h.proc.Store(p)
	return nil
}

func (h *host) Keep(lines string) error {
	f, err := os.OpenFile(h.settingsFile(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(lines)
	return errors.Join(err, f.Close())
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

// PowerLoss kills the process and its forks, which would continue to write. It stops the process first, so that it
// cannot fork again.
func (h *host) PowerLoss(ctx context.Context, _ cluster.DiskFaults) (lost int64, err error) {
	if err := h.needShim(cluster.AbilityPowerLoss); err != nil {
		return 0, err
	}
	p := h.proc.Load()
	if err := p.Pause(ctx); err != nil && p.Running() {
		return 0, err
	}
	children, err := process.ChildrenOf(p.Identity().PID)
	errs := []error{err, p.Kill()}
	for _, child := range children {
		errs = append(errs, process.End(child))
	}
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	return h.shim.CutPower(h.disk)
}

// SetClock sets the shim's clock; without a shim the clock is this machine's.
func (h *host) SetClock(_ context.Context, jump time.Duration, rate float64) (time.Time, error) {
	if jump != 0 || rate != 0 {
		err := h.needShim(cluster.AbilityClock)
		if err == nil {
			err = h.shim.SetClock(jump, rate)
		}
		if err != nil {
			return time.Time{}, err
		}
	}
	if h.shim == nil {
		return time.Now(), nil
	}
	now, err := h.shim.Now()
	return time.Unix(0, now), err
}

func (h *host) Disturb(_ context.Context, d cluster.DiskFaults) (done cluster.Disturbed, err error) {
	if err := h.needShim(cluster.AbilityDisk); err != nil {
		return done, err
	}
	return h.shim.Disturb(d)
}

func (h *host) Log(context.Context) string { return process.Tail(h.logFile()) }

// needShim returns an error if the shim is missing or not in effect.
func (h *host) needShim(a *cluster.Ability) error {
	if h.shim == nil {
		return lacks(a)
	}
	p := h.proc.Load()
	if p == nil || !p.Running() {
		return nil // the next process is checked then
	}
	if under, err := h.shim.Commands(p.Identity().PID); under || err != nil {
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
	if h.shim != nil {
		errs = append(errs, h.shim.Close())
	}
	return errors.Join(errs...)
}
