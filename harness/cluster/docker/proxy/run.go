package proxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/link"
	"lockproof/harness/cluster/realtime"
)

// runLinks is the links of one run.
type runLinks struct {
	log       *log
	links     map[Path]*link.Link
	listening []Listening
	listeners []net.Listener
	serving   sync.WaitGroup // goroutines that live as long as the run
	life      context.Context
	end       context.CancelFunc
	servers   map[string]*server

	mu         sync.Mutex
	meters     []func() cluster.Traffic
	intercepts []func() cluster.Met
}

// openRun opens the links, on consecutive ports.
func openRun(want Run, first, ports int) (*runLinks, error) {
	if n := want.Ports(); n > ports {
		return nil, fmt.Errorf("%d clients and %d servers need %d ports, and %d are published",
			len(want.Clients), len(want.Servers), n, ports)
	}
	if want.Delay < 0 || want.Delay > longest {
		return nil, fmt.Errorf("a delay of %s: it is a time from 0 to %s", want.Delay, longest)
	}
	r := &runLinks{log: newLog(), links: map[Path]*link.Link{}, servers: map[string]*server{}}
	r.life, r.end = context.WithCancel(context.Background())
	for _, addresses := range []map[string]string{want.Servers, want.Sentinels} {
		for name, address := range addresses {
			r.servers[name] = newServer(address)
		}
	}
	clock := realtime.Since(want.Epoch)
	var travel func(bool, int, int) time.Duration
	if want.Delay > 0 {
		travel = func(bool, int, int) time.Duration { return want.Delay }
	}
	for i, cfg := range want.links() {
		cfg.Now, cfg.Epoch, cfg.Record, cfg.Travel = clock.Now, clock.Began(), r.log.add, travel
		if err := r.open(cfg, first+i); err != nil {
			r.close()
			return nil, err
		}
	}
	if err := r.passOn(want, first+len(want.links())); err != nil {
		r.close()
		return nil, err
	}
	if want.StallLimit > 0 {
		r.serving.Go(func() { clock.Watch(r.life, Process, want.StallLimit, r.log.add) })
	}
	return r, nil
}

// longest is the longest delay of a link, whatever a message asks for.
const longest = 24 * time.Hour

// Ports is how many ports the run's links take.
func (want Run) Ports() int {
	return len(want.Clients)*(len(want.Servers)+len(want.Sentinels)) + len(want.Replicas) + len(want.Watched) +
		PortsOfAMember*len(want.Members)
}

// links lists what links there are to be.
func (want Run) links() []link.Config {
	scripts := link.NewScripts()
	var wanted []link.Config
	for _, client := range want.Clients {
		for _, name := range slices.Sorted(maps.Keys(want.Servers)) {
			wanted = append(wanted, link.Config{Client: client, Node: name, Scripts: scripts})
		}
		for _, name := range slices.Sorted(maps.Keys(want.Sentinels)) {
			wanted = append(wanted, link.Config{Client: client, Node: name, Opaque: true})
		}
	}
	for _, replica := range slices.Sorted(maps.Keys(want.Replicas)) {
		wanted = append(wanted, link.Config{Client: replica, Node: want.Replicas[replica], Opaque: true})
	}
	for _, name := range want.Watched {
		wanted = append(wanted, link.Config{Client: cluster.SentinelsName, Node: name, Opaque: true})
	}
	return wanted
}

// open makes a link, and waits for its client on a port.
func (r *runLinks) open(cfg link.Config, port int) error {
	p := Path{cfg.Client, cfg.Node}
	if r.links[p] != nil {
		return fmt.Errorf("the link from %q to %q is there twice", p.Client, p.Server)
	}
	if r.servers[p.Server] == nil {
		return fmt.Errorf("the link from %q to %q: there is no such server in this run", p.Client, p.Server)
	}
	r.links[p] = link.New(cfg)
	return r.listen(p, port, r.join)
}

// listen waits on a port for who is to be led to a server.
func (r *runLinks) listen(p Path, port int, lead func(Path, net.Conn)) error {
	ln, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return fmt.Errorf("from %s to %s: %w", p.Client, p.Server, err)
	}
	r.listening = append(r.listening, Listening{p, port})
	r.listeners = append(r.listeners, ln)
	r.serving.Go(func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return // closed
			}
			// A server that is away must not keep the next client waiting.
			r.serving.Go(func() { lead(p, client) })
		}
	})
	return nil
}

// join leads a client over its link to its server, or turns it away.
func (r *runLinks) join(p Path, client net.Conn) {
	upstream, err := r.servers[p.Server].dial()
	if err != nil {
		if tcp, ok := client.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, as of a server that is not there
		}
		client.Close()
		return
	}
	r.links[p].Join(client, upstream)
}

// close ends every link and tells all of it.
func (r *runLinks) close() {
	r.end()
	for _, ln := range r.listeners {
		ln.Close()
	}
	for _, s := range r.servers {
		s.move("")
	}
	r.serving.Wait()
	for _, l := range r.links {
		_ = l.Close() // it has no error to give
	}
	r.log.close()
}

func (r *runLinks) move(m Moved) error {
	s := r.servers[m.Server]
	if s == nil {
		return fmt.Errorf("there is no server %q in this run", m.Server)
	}
	s.move(m.Address)
	return nil
}

// obey calls a method of a link.
func (r *runLinks) obey(o Order) (Result, error) {
	l := r.links[o.Path]
	if l == nil {
		return Result{}, fmt.Errorf("there is no link from %q to %q in this run", o.Client, o.Server)
	}
	var res Result
	var err error
	switch o.Do {
	case DoCut:
		err = l.Cut(o.Direction)
	case DoHeal:
		err = l.Heal(o.Direction)
	case DoDelay:
		if o.By > longest {
			return res, fmt.Errorf("a delay of %s: it is a time from 0 to %s", o.By, longest)
		}
		err = l.Delay(o.Direction, o.By)
	case DoIntercept:
		if o.Intercept == nil {
			return res, errors.New("intercept: what to do is missing")
		}
		var met func() cluster.Met
		if met, err = l.Intercept(*o.Intercept); err == nil {
			res.Number = keep(r, &r.intercepts, met)
		}
	case DoLetGo:
		res.Held, err = l.LetGo()
	case DoCount:
		res.Received, res.Answered = l.Count(o.Command)
	case DoIntercepted:
		res.Intercepted, err = read(r, &r.intercepts, o.Number)
	case DoMeasure:
		res.Number = keep(r, &r.meters, l.Measure(o.Direction))
	case DoMeasured:
		res.Traffic, err = read(r, &r.meters, o.Number)
	default:
		err = fmt.Errorf("a link cannot %q", o.Do)
	}
	return res, err
}

// keep gives what reads an intercept or a measurement a number, from 1.
func keep[T any](r *runLinks, kept *[]func() T, reads func() T) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	*kept = append(*kept, reads)
	return len(*kept)
}

// read reads the one of that number.
func read[T any](r *runLinks, kept *[]func() T, n int) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n < 1 || n > len(*kept) {
		var none T
		return none, fmt.Errorf("nothing of that kind has the number %d", n)
	}
	return (*kept)[n-1](), nil
}

// server is where one of the lock's servers is at present. A container that is
// down has no address: a connection to the one that it had would neither be
// made nor refused.
type server struct {
	mu      sync.Mutex
	address string
	here    context.Context // ends when it goes away
	away    context.CancelFunc
}

func newServer(address string) *server {
	s := &server{away: func() {}}
	s.move(address)
	return s
}

func (s *server) move(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away()
	s.address = address
	s.here, s.away = context.WithCancel(context.Background())
}

// dialWithin bounds a dial to a server that is up.
const dialWithin = time.Second

func (s *server) dial() (net.Conn, error) {
	s.mu.Lock()
	address, here := s.address, s.here
	s.mu.Unlock()
	if address == "" {
		return nil, cluster.ErrDown
	}
	d := net.Dialer{Timeout: dialWithin}
	return d.DialContext(here, "tcp", address)
}
