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

// Dial connects a client to its server of that number.
type Dial func(ctx context.Context, network string, server int) (net.Conn, error)

// Client is one client of a trial, with the hosts that its servers have for it alone.
type Client struct {
	dial  Dial
	hosts []string

	mu     sync.Mutex
	missed []string
}

// Each host's name ends so: nobody else resolves it (RFC 2606).
const (
	domain = ".lockproof.invalid"
	port   = "6379"
)

// host is one server as one client reaches it.
type host struct {
	name   string
	ip     net.IP
	client *Client
	server int
}

// table has the hosts of all clients in this process.
type table struct {
	mu      sync.Mutex
	hosts   map[string]*host // by name, and by address
	clients int              // so far
	servers uint32           // so far
	unknown []string         // hosts of nobody's that were dialled in a bubble
}

var known = &table{hosts: map[string]*host{}}

// NewClient gives a client hosts for so many servers. Without the overlay they are names that its own Dial knows: what
// a library keeps for its whole process under an address is not shared either.
func NewClient(name string, servers int, dial Dial) *Client {
	install()
	c := &Client{dial: dial}
	known.mu.Lock()
	defer known.mu.Unlock()
	known.clients++
	for i := range servers {
		known.servers++
		n := known.servers // 240.0.0.0/4 is reserved: no packet to it leaves the machine
		h := &host{name: fmt.Sprintf("redis-%d.%s-%d%s", i+1, name, known.clients, domain),
			ip: net.IPv4(240+byte(n>>24&0xf), byte(n>>16), byte(n>>8), byte(n)), client: c, server: i}
		c.hosts = append(c.hosts, h.name)
		known.hosts[h.name], known.hosts[h.ip.String()] = h, h
	}
	return c
}

// Address is a server's, for any library's dial.
func (c *Client) Address(server int) string { return net.JoinHostPort(c.hosts[server], port) }

// Plain gives a text with the servers' names for their hosts, which no other run has.
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

// Close ends the hosts. The error says which connections went past virtual time, so that
// faults did not meet them.
func (c *Client) Close() error {
	if c == nil {
		return nil
	}
	known.mu.Lock()
	for _, name := range c.hosts {
		delete(known.hosts, known.hosts[name].ip.String())
		delete(known.hosts, name)
	}
	known.mu.Unlock()
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

// Unknown gives the addresses that were dialled in a bubble and are of no trial's server, and forgets them.
func Unknown() []string {
	known.mu.Lock()
	defer known.mu.Unlock()
	all := known.unknown
	known.unknown = nil
	return all
}

// find gives a host, nil if there is none of that name or address.
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

// refuseUnknown says why a host cannot be reached in a bubble.
func (t *table) refuseUnknown(network, host, address string) error {
	if strings.HasSuffix(host, domain) { // it was one, and its client has ended
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

// refuse hears of connections and look-ups that virtual time cannot serve.
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
