package realcluster

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/link"
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/cluster/script"
	"example.org/lockproof/harness/history"
)

// network holds the links of one run, each on its own listener. They run in the harness's process, for servers in
// containers too.
type network struct {
	addresses map[history.Link]string // of the links, each for its client
	links     map[history.Link]*link.Link
	listeners []net.Listener
	serving   sync.WaitGroup // goroutines that live as long as the network
	servers   map[string]*server
}

// toMember and toBus are the clients' ends of two links to each member of a Redis Cluster that no fault affects: to its
// port, and to the port of its bus. Other members use them.
const (
	toMember = "to-member"
	toBus    = "to-bus"
)

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

// openNetwork opens the links of a configuration. servers maps each server and Sentinel to its address, "" if it is
// down. members maps the members of a Redis Cluster to the ports of their buses.
func openNetwork(cfg cluster.Config, clock realtime.Clock, servers map[string]string, members map[string]int,
	listen Listen) (*network, error) {
	n := &network{addresses: map[history.Link]string{}, links: map[history.Link]*link.Link{},
		servers: map[string]*server{}}
	for name, address := range servers {
		n.servers[name] = newServer(address)
	}
	var travel func(bool, int, int) time.Duration
	if cfg.Delay > 0 {
		travel = func(bool, int, int) time.Duration { return cfg.Delay }
	}
	scripts := script.New()
	commands, streams := cfg.Links()
	for i, l := range slices.Concat(commands, streams) {
		if err := n.open(link.Config{Client: l.From, Node: l.To, Now: clock.Now, Epoch: clock.Began(),
			Record: cfg.Record, Travel: travel, Scripts: scripts, Opaque: i >= len(commands)}, 0, listen); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		for way, port := range map[string]int{toMember: 0, toBus: members[name]} {
			if err := n.open(link.Config{Client: way, Node: name, Opaque: true}, port, listen); err != nil {
				return nil, err
			}
		}
	}
	return n, nil
}

// open opens a link on its own listener, to a port of its server's host; 0: the server's own. If it fails, it closes
// the network.
func (n *network) open(cfg link.Config, port int, listen Listen) error {
	name := history.Link{From: cfg.Client, To: cfg.Node}
	ln, address, err := listen(name)
	if err != nil {
		n.close()
		return fmt.Errorf("from %s to %s: %w", name.From, name.To, err)
	}
	l, to := link.New(cfg), n.servers[name.To]
	n.addresses[name], n.links[name] = address, l
	n.listeners = append(n.listeners, ln)
	n.serving.Go(func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return // closed
			}
			// An unreachable server must not delay the next client.
			n.serving.Go(func() { join(l, client, to, port) })
		}
	})
	return nil
}

// join connects a client over its link to a port of its server, or refuses it.
func join(l *link.Link, client net.Conn, to *server, port int) {
	upstream, err := to.dial(port)
	if err != nil {
		if tcp, ok := client.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, as of a server that is not there
		}
		client.Close()
		return
	}
	l.Join(client, upstream)
}

// close ends every link.
func (n *network) close() {
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

// dial connects to a port of the server's host; 0: its own.
func (s *server) dial(port int) (net.Conn, error) {
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
