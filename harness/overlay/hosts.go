package overlay

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Dial connects a client to its server of this number.
type Dial func(ctx context.Context, network string, server int) (net.Conn, error)

// Client is one client of a trial, with its own hosts for the servers.
type Client struct {
	dial  Dial
	hosts []string

	mu     sync.Mutex
	missed []string
}

// The end of each host's name, which no real host has (RFC 2606).
const (
	domain = ".lockproof.invalid"
	port   = "6379"
)

// host is one server for one client.
type host struct {
	name   string
	ip     net.IP
	client *Client
	server int
}

// table has the hosts of all clients of this process.
type table struct {
	mu      sync.Mutex
	hosts   map[string]*host // by name, and by address
	clients int              // so far
	servers uint32           // so far
	unknown []string         // unknown hosts dialled in a bubble
}

var allHosts = &table{hosts: map[string]*host{}}

// NewClient gives a client hosts for this many servers. Without the overlay only its own Dial knows the names: then,
// too, no other client shares what a library keeps under an address.
func NewClient(name string, servers int, dial Dial) *Client {
	install()
	c := &Client{dial: dial}
	allHosts.mu.Lock()
	defer allHosts.mu.Unlock()
	allHosts.clients++
	for i := range servers {
		allHosts.servers++
		n := allHosts.servers // 240.0.0.0/4 is reserved: no packet to it leaves the machine
		h := &host{name: fmt.Sprintf("redis-%d.%s-%d%s", i+1, name, allHosts.clients, domain),
			ip: net.IPv4(240+byte(n>>24&0xf), byte(n>>16), byte(n>>8), byte(n)), client: c, server: i}
		c.hosts = append(c.hosts, h.name)
		allHosts.hosts[h.name], allHosts.hosts[h.ip.String()] = h, h
	}
	return c
}

// Address is a server's address, for any library's dial.
func (c *Client) Address(server int) string { return net.JoinHostPort(c.hosts[server], port) }

// Plain replaces the hosts in a text, which differ in each run, by the servers' names.
func (c *Client) Plain(text string, names []string) string {
	if c == nil || !strings.Contains(text, domain) {
		return text
	}
	for i, host := range c.hosts {
		text = strings.ReplaceAll(text, net.JoinHostPort(host, port), names[i])
		text = strings.ReplaceAll(text, host, names[i])
	}
	return text
}

// Close removes the hosts. The error names the connections outside virtual time, which no fault affected.
func (c *Client) Close() error {
	if c == nil {
		return nil
	}
	allHosts.mu.Lock()
	for _, name := range c.hosts {
		delete(allHosts.hosts, allHosts.hosts[name].ip.String())
		delete(allHosts.hosts, name)
	}
	allHosts.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.missed) == 0 {
		return nil
	}
	return fmt.Errorf("the lock cannot be in virtual time: %s", strings.Join(c.missed, "; "))
}

func (c *Client) miss(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.missed, why) {
		c.missed = append(c.missed, why)
	}
}

// Unknown returns the unknown addresses dialled in a bubble, and forgets them.
func Unknown() []string {
	allHosts.mu.Lock()
	defer allHosts.mu.Unlock()
	all := allHosts.unknown
	allHosts.unknown = nil
	return all
}

// find returns a host by name or address, or nil.
func (t *table) find(host string) *host {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.hosts[strings.TrimSuffix(host, ".")]
}

func (t *table) dial(ctx context.Context, network, address string) (net.Conn, error) {
	name, at, err := net.SplitHostPort(address)
	if err != nil {
		name = address
	}
	h := t.find(name)
	switch {
	case h == nil:
		return nil, &net.OpError{Op: "dial", Net: network, Err: t.refuseUnknown(network, name, address)}
	case at != port || !strings.HasPrefix(network, "tcp"):
		return nil, &net.OpError{Op: "dial", Net: network, Err: refused(address)}
	}
	return h.client.dial(ctx, network, h.server)
}

// refused is a connection that is refused, at an address where no server listens.
func refused(address string) error { return fmt.Errorf("%s: %w", address, syscall.ECONNREFUSED) }

// refuseUnknown returns the reason why a host is unreachable in a bubble.
func (t *table) refuseUnknown(network, host, address string) error {
	if strings.HasSuffix(host, domain) { // its client has closed
		return refused(address)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.unknown, address) {
		t.unknown = append(t.unknown, address)
	}
	return fmt.Errorf("%s: virtual time has no such host, only what env.Server(i).Addr gives", address)
}

func (t *table) lookup(name string) (net.IP, error) {
	if h := t.find(name); h != nil {
		return h.ip, nil
	}
	return nil, &net.DNSError{Err: t.refuseUnknown("ip", name, name).Error(), Name: name, IsNotFound: true}
}

// refuse reports connections and look-ups that virtual time cannot serve.
func (t *table) refuse(name string, inBubble bool) error {
	h := t.find(name)
	switch {
	case h == nil && inBubble:
		return t.refuseUnknown("tcp", name, name)
	case h == nil:
		return nil
	}
	why := "a goroutine that was started outside the trial dials its server: start it in the function that makes the lock"
	if inBubble {
		why = "net.DialTCP connects with a real socket: use net.Dial"
	}
	h.client.miss(why)
	return fmt.Errorf("%s: %s", h.name, why)
}
