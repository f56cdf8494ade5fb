package local

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"lockproof/harness/client"
	"lockproof/harness/cluster"
	"lockproof/harness/cluster/link"
	"lockproof/harness/cluster/process"
	"lockproof/harness/cluster/server"
)

var _ cluster.Sentinels = (*Cluster)(nil)

// sentinel is one Sentinel: a redis-server that watches others.
type sentinel struct {
	server.Sentinel
	name string
	dir  string
	port *port
	proc *process.Process
}

// watchPaths opens the links over which the Sentinels reach the servers that they
// watch. Sentinels, and clients that ask them, know the servers by these
// addresses.
func (c *Cluster) watchPaths() error {
	for _, name := range c.cfg.Watched() {
		if err := c.open(link.Config{Client: cluster.SentinelsName, Node: name, Opaque: true}, c.nodes[name].addr); err != nil {
			return err
		}
	}
	return nil
}

// watch starts the Sentinels, opens a link from every client to each, and returns
// once they are ready to promote a replica.
func (c *Cluster) watch(ctx context.Context) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	var all []server.Sentinel
	for _, name := range c.cfg.SentinelNames() {
		s, err := c.newSentinel(name)
		if err != nil {
			return err
		}
		c.sentinels = append(c.sentinels, s)
		all = append(all, s.Sentinel)
	}
	for _, s := range c.sentinels { // all links first: who starts reads where they lead
		for _, name := range c.cfg.Clients {
			if err := c.open(link.Config{Client: name, Node: s.name, Opaque: true}, s.Address); err != nil {
				return err
			}
		}
	}
	var starting errgroup.Group
	for _, s := range c.sentinels {
		starting.Go(func() error { return c.startSentinel(ctx, s, all) })
	}
	return starting.Wait()
}

// newSentinel makes a place for a Sentinel.
func (c *Cluster) newSentinel(name string) (*sentinel, error) {
	id := make([]byte, 20)
	if _, err := rand.Read(id); err != nil {
		return nil, err
	}
	s := &sentinel{name: name, dir: filepath.Join(c.folder, name), Sentinel: server.Sentinel{ID: hex.EncodeToString(id)}}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("sentinel %s: %w", name, err)
	}
	var err error
	if s.port, err = reservePort(); err != nil {
		return nil, fmt.Errorf("sentinel %s: %w", name, err)
	}
	s.Address = net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port.number))
	return s, nil
}

// startSentinel starts one of all Sentinels, and returns once it is ready.
func (c *Cluster) startSentinel(ctx context.Context, s *sentinel, all []server.Sentinel) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("sentinel %s: %w; the end of its log: %s", s.name, err, process.Tail(s.logFile()))
		}
	}()
	var replicas []string
	watched := c.cfg.Watched()
	for _, name := range watched[1:] {
		replicas = append(replicas, c.address[path{cluster.SentinelsName, name}])
	}
	lines, err := server.SentinelSettings(s.Sentinel, all, c.address[path{cluster.SentinelsName, watched[0]}], replicas)
	if err != nil {
		return err
	}
	lines = fmt.Sprintf("bind 127.0.0.1\nport %d\nprotected-mode no\ndaemonize no\ndir %q\nlogfile \"\"\n", s.port.number, s.dir) + lines
	file := filepath.Join(s.dir, "sentinel.conf") // it keeps its state there
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		return err
	}
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(c.server.file, file, "--sentinel")
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	if s.proc, err = process.Launch(s.name, cmd, c.record); err != nil {
		return err
	}
	for {
		if reply, err := server.Query(ctx, s.Address, "PING"); err == nil && reply == "+PONG" {
			return server.AwaitWatch(ctx, s.Address, len(replicas))
		}
		select {
		case <-s.proc.Gone():
			return fmt.Errorf("it ended with %s", s.proc.How())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(process.PollEvery):
		}
	}
}

func (s *sentinel) logFile() string { return filepath.Join(s.dir, "sentinel.log") }

// close ends the Sentinel.
func (s *sentinel) close() error {
	s.port.release()
	if s.proc == nil {
		return nil
	}
	return s.proc.Kill()
}

// Masters gives, for each Sentinel, the server that it names as the master.
func (c *Cluster) Masters(ctx context.Context) ([]string, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	var names []string
	for _, s := range c.sentinels {
		addr, err := server.Master(ctx, s.Address)
		if err != nil {
			return nil, fmt.Errorf("ask %s for the master: %w", s.name, err)
		}
		for _, name := range c.cfg.Watched() {
			if c.address[path{cluster.SentinelsName, name}] == addr {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// routes fills in how a client that asks Sentinel reaches it, and what lies behind
// the addresses that Sentinel gives: the client's own links.
func (c *Cluster) routes(setup *client.Setup) error {
	names := setup.Sentinels
	setup.Sentinels = nil
	for _, name := range names {
		addr, ok := c.address[path{setup.Name, name}]
		if !ok {
			return fmt.Errorf("spawn %s: there is no Sentinel %s: there are %v", setup.Name, name, c.cfg.SentinelNames())
		}
		setup.Sentinels = append(setup.Sentinels, addr)
	}
	if len(names) == 0 {
		return nil
	}
	setup.Routes = map[string]string{}
	for _, name := range c.cfg.Watched() {
		setup.Routes[c.address[path{cluster.SentinelsName, name}]] = c.address[path{setup.Name, name}]
	}
	for _, s := range c.sentinels {
		setup.Routes[s.Address] = c.address[path{setup.Name, s.name}]
	}
	return nil
}
