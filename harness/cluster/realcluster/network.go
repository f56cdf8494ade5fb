package realcluster

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
	life      context.Context
	end       context.CancelFunc
	servers   map[string]*server
}

// toMember and toBus stand for the source of connections to a member of a Redis Cluster past every link: to its port,
// and to the port of its bus.
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
// down. members maps the members of a Redis Cluster to the ports of their buses: each gets two further ports, toMember
// and toBus, that no fault affects.
func openNetwork(cfg cluster.Config, clock realtime.Clock, servers map[string]string, members map[string]int,
	listen Listen) (*network, error) {
	n := &network{addresses: map[history.Link]string{}, links: map[history.Link]*link.Link{},
		servers: map[string]*server{}}
	n.life, n.end = context.WithCancel(context.Background())
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
		n.links[l] = link.New(link.Config{Client: l.From, Node: l.To, Now: clock.Now, Epoch: clock.Began(),
			Record: cfg.Record, Travel: travel, Scripts: scripts, Opaque: i >= len(commands)})
		if err := n.listen(l, listen, n.join); err != nil {
			n.close()
			return nil, err
		}
	}
	if err := n.passOn(members, listen); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// listen accepts connections and passes each to handle.
func (n *network) listen(l history.Link, listen Listen, handle func(history.Link, net.Conn)) error {
	ln, address, err := listen(l)
	if err != nil {
		return fmt.Errorf("from %s to %s: %w", l.From, l.To, err)
	}
	n.addresses[l] = address
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

// join connects a client over its link to its server, or refuses it.
func (n *network) join(l history.Link, client net.Conn) {
	upstream, err := n.servers[l.To].dial(0)
	if err != nil {
		if tcp, ok := client.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, as of a server that is not there
		}
		client.Close()
		return
	}
	n.links[l].Join(client, upstream)
}

// close ends every link.
func (n *network) close() {
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

// passOn opens the ports of the members of a Redis Cluster. The bus does not speak RESP, so it is not a link.
func (n *network) passOn(members map[string]int, listen Listen) error {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		for way, port := range map[string]int{toMember: 0, toBus: members[name]} {
			handle := func(_ history.Link, from net.Conn) { n.pass(from, n.servers[name], port) }
			if err := n.listen(history.Link{From: way, To: name}, listen, handle); err != nil {
				return err
			}
		}
	}
	return nil
}

// pass copies between a connection and a member's port until either side closes or the network ends.
func (n *network) pass(from net.Conn, member *server, port int) {
	defer from.Close()
	to, err := member.dial(port)
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
