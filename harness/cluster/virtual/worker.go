package virtual

import (
	"context"
	"fmt"
	"net"
	"syscall"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster/link"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
)

// Spawn starts a client. The setup's Nodes may be names of nodes, in the client's
// order; none means all. messages must not let virtual time pass, nor call the
// client's Kill or Close, which wait for it.
func (c *Cluster) Spawn(ctx context.Context, setup client.Setup, messages func(client.Message)) (client.Worker, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("spawn %s: %w", setup.Name, err)
	}
	err := setup.Complete(c.cfg, func(server string) string { // the address of a node is its name
		if c.nodes[server] == nil {
			return ""
		}
		return c.cfg.Resolve(server)
	})
	if err != nil {
		return nil, fmt.Errorf("spawn %s: %w", setup.Name, err)
	}
	setup.Epoch, setup.StallLimit = 0, 0 // no client can stall: virtual time waits for every goroutine
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, fmt.Errorf("spawn %s: the cluster is closed", setup.Name)
	}
	w, err := client.New(setup, client.Env{Dial: c.dialer(setup.Name), Now: c.Now, Scheduler: c.scheduler}, messages)
	if err != nil {
		return nil, fmt.Errorf("spawn %s: %w", setup.Name, err)
	}
	c.workers = append(c.workers, w)
	return w, nil
}

// dialer connects a client to nodes over its links.
func (c *Cluster) dialer(name string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, _, addr string) (net.Conn, error) {
		p := c.paths[history.Link{From: name, To: addr}]
		if p == nil {
			return nil, refused(addr, fmt.Errorf("%s has no link to it", name))
		}
		number, after := p.travel.dial()
		key := scheduler.Key{Class: scheduler.Arrival, A: p.order, B: number, C: -1}
		if err := c.scheduler.Sleep(ctx, key, after); err != nil {
			return nil, refused(addr, err)
		}
		conn, ok := p.open(number)
		if !ok {
			return nil, refused(addr, errRefused{})
		}
		return conn, nil
	}
}

// open makes a connection over the link, unless the node is down. A paused node
// accepts it, as the kernel does for a stopped process.
func (p *path) open(number int) (net.Conn, bool) {
	client, near := p.pipe(number)
	far, server := p.pipe(number)
	if p.node.serve(server, false) == nil {
		return nil, false
	}
	p.Join(near, far)
	return client, true
}

// pipe makes one half of a connection over the path.
func (p *path) pipe(number int) (near, far net.Conn) {
	return link.Pipe(p.node.scheduler, scheduler.Key{Class: scheduler.Arrival, A: p.order, B: number})
}

// errRefused is syscall.ECONNREFUSED with Linux's text on every system, as one seed must give one history.
type errRefused struct{}

func (errRefused) Error() string { return "connection refused" }
func (errRefused) Unwrap() error { return syscall.ECONNREFUSED }

// refused reports a failed dial as package net does.
func refused(addr string, err error) error {
	return &net.OpError{Op: "dial", Net: "virtual", Addr: address(addr), Err: err}
}

// address is a node's name as a net.Addr.
type address string

func (a address) Network() string { return "virtual" }
func (a address) String() string  { return string(a) }
