package network

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/link"
	"example.org/lockproof/harness/cluster/script"
	"example.org/lockproof/harness/history"
)

// Network holds the links of one run.
type Network struct {
	Addresses map[history.Link]string // of the links, each for its client
	links     map[history.Link]*link.Link
	listeners []net.Listener
	serving   sync.WaitGroup // goroutines that live as long as the network
	life      context.Context
	end       context.CancelFunc
	servers   map[string]*server
}

// Listen makes a link's listener, and returns its address for the link's client.
type Listen func(history.Link) (listener net.Listener, address string, err error)

// Loopback listens on a free port of loopback.
func Loopback(history.Link) (net.Listener, string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	return listener, listener.Addr().String(), nil
}

// Open opens the links. record receives their events.
func Open(want Run, listen Listen, record func(history.Event)) (*Network, error) {
	n := &Network{Addresses: map[history.Link]string{}, links: map[history.Link]*link.Link{},
		servers: map[string]*server{}}
	n.life, n.end = context.WithCancel(context.Background())
	for name, address := range want.Servers {
		n.servers[name] = newServer(address)
	}
	var travel func(bool, int, int) time.Duration
	if want.Delay > 0 {
		travel = func(bool, int, int) time.Duration { return want.Delay }
	}
	scripts := script.New()
	for i, l := range slices.Concat(want.Links, want.Streams) {
		cfg := link.Config{Client: l.From, Node: l.To, Now: want.Clock.Now, Epoch: want.Clock.Began(), Record: record,
			Travel: travel, Scripts: scripts, Opaque: i >= len(want.Links)}
		if err := n.open(l, cfg, listen); err != nil {
			n.Close()
			return nil, err
		}
	}
	if err := n.passOn(want.Members, listen); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// open makes a link and listens for its client.
func (n *Network) open(l history.Link, cfg link.Config, listen Listen) error {
	if n.links[l] != nil {
		return fmt.Errorf("the link from %q to %q is there twice", l.From, l.To)
	}
	if n.servers[l.To] == nil {
		return fmt.Errorf("the link from %q to %q: there is no such server in this run", l.From, l.To)
	}
	n.links[l] = link.New(cfg)
	return n.listen(l, listen, n.join)
}

// listen accepts connections and passes each to handle.
func (n *Network) listen(l history.Link, listen Listen, handle func(history.Link, net.Conn)) error {
	ln, address, err := listen(l)
	if err != nil {
		return fmt.Errorf("from %s to %s: %w", l.From, l.To, err)
	}
	n.Addresses[l] = address
	n.listeners = append(n.listeners, ln)
	n.serving.Go(func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return // closed
			}
			// An unreachable server must not delay the next client.
			n.serving.Go(func() { handle(l, client) })
		}
	})
	return nil
}

// Link is the link of that name; nil if there is none.
func (n *Network) Link(name history.Link) cluster.Link {
	if l := n.links[name]; l != nil {
		return l
	}
	return nil
}

// join connects a client over its link to its server, or refuses it.
func (n *Network) join(l history.Link, client net.Conn) {
	upstream, err := n.servers[l.To].dial()
	if err != nil {
		if tcp, ok := client.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, as of a server that is not there
		}
		client.Close()
		return
	}
	n.links[l].Join(client, upstream)
}

// Close ends every link.
func (n *Network) Close() {
	n.end()
	for _, ln := range n.listeners {
		ln.Close()
	}
	for _, s := range n.servers {
		s.move("")
	}
	n.serving.Wait()
	for _, l := range n.links {
		_ = l.Close() // never fails
	}
}

// Move sets a server's address; "" means that it is down and refuses connections.
func (n *Network) Move(name, address string) error {
	s := n.servers[name]
	if s == nil {
		return fmt.Errorf("there is no server %q in this run", name)
	}
	s.move(address)
	return nil
}

// server is the present address of a lock server. A stopped container has none: a connection to its former address
// would neither succeed nor be refused.
type server struct {
	mu      sync.Mutex
	address string
	current context.Context // ends when the address changes
	expire  context.CancelFunc
}

func newServer(address string) *server {
	s := &server{expire: func() {}}
	s.move(address)
	return s
}

func (s *server) move(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	s.address = address
	s.current, s.expire = context.WithCancel(context.Background())
}

const dialTimeout = time.Second

func (s *server) dial() (net.Conn, error) { return s.dialPort(0) }

// dialPort dials another port of the server's host; 0: its own.
func (s *server) dialPort(port int) (net.Conn, error) {
	s.mu.Lock()
	address, current := s.address, s.current
	s.mu.Unlock()
	if address == "" {
		return nil, cluster.ErrDown
	}
	if port != 0 {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		address = net.JoinHostPort(host, strconv.Itoa(port))
	}
	d := net.Dialer{Timeout: dialTimeout}
	return d.DialContext(current, "tcp", address)
}

// passOn opens the ports of the members of a Redis Cluster. The bus does not speak RESP, so it is not a link.
func (n *Network) passOn(members map[string]int, listen Listen) error {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		s := n.servers[name]
		if s == nil {
			return fmt.Errorf("the member %q: there is no such server in this run", name)
		}
		for way, port := range map[string]int{ToMember: 0, ToBus: members[name]} {
			handle := func(_ history.Link, from net.Conn) {
				n.pass(from, func() (net.Conn, error) { return s.dialPort(port) })
			}
			if err := n.listen(history.Link{From: way, To: name}, listen, handle); err != nil {
				return err
			}
		}
	}
	return nil
}

// pass copies between a connection and a member until either side closes or the network ends.
func (n *Network) pass(from net.Conn, dial func() (net.Conn, error)) {
	defer from.Close()
	to, err := dial()
	if err != nil {
		return
	}
	defer to.Close()
	defer context.AfterFunc(n.life, func() {
		from.Close()
		to.Close()
	})()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
		both.Go(func() {
			_, _ = io.Copy(way[1], way[0]) // any error ends the connection too
			from.Close()
			to.Close()
		})
	}
	both.Wait()
}
