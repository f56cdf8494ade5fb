package link

import (
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/script"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
)

// Config configures a link.
type Config struct {
	Client, Node string
	Now          func() int64        // the true clock
	Record       func(history.Event) // receives the command and reply events
	// Epoch is the date at which the run began, by a correct wall clock.
	Epoch time.Time
	// Travel is the travel time of a message, by direction, connection and number
	// of the message on that connection, both from 0; nil: zero.
	Travel func(toNode bool, connection, message int) time.Duration
	// Scripts are the Lua scripts that the run's links share; nil: a set of its own.
	Scripts *script.Scripts
	// Direct, if set, delivers the messages of connections in memory (ends of Pipes) without toxiproxy: the link applies
	// its faults itself. Nil: over TCP with toxiproxy.
	Direct *scheduler.Scheduler
	// Order ranks the link among links with messages at one instant.
	Order int
	// Opaque: the traffic is not commands and replies but, for example, a replication stream. It is passed on unread.
	Opaque bool
}

// Link is a cluster.Link over toxiproxy, unless it is direct.
type Link struct {
	cfg  Config
	name string

	// mu guards all fields below, the connections and their flows. It is not held while a message is delivered, as the
	// receiver may answer at once.
	mu         sync.Mutex
	cuts       [2]int           // cuts in effect, by direction
	delays     [2]time.Duration // sums of all delays, by direction
	meters     [2][]*meter
	joined     int // connections so far
	open       map[*connection]bool
	intercepts []*intercept
	placed     int               // intercepts so far
	own        map[string]string // by key, the token of the client's last confirmed acquire or extension
	serial     int64
	counts     map[string]*count
	closed     bool
	idle       *sync.Cond         // open became empty
	observer   func() (hold bool) // called for each message
}

var _ cluster.Link = (*Link)(nil)

type count struct{ received, answered int }

// New makes a link without connections.
func New(cfg Config) *Link {
	if cfg.Scripts == nil {
		cfg.Scripts = script.New()
	}
	l := &Link{
		cfg:    cfg,
		name:   history.Link{From: cfg.Client, To: cfg.Node}.Process(),
		open:   map[*connection]bool{},
		own:    map[string]string{},
		counts: map[string]*count{},
	}
	l.idle = sync.NewCond(&l.mu)
	return l
}

// Name is the link's process name in histories: c1>n3.
func (l *Link) Name() string { return l.name }

// Join connects a client's end and a server's end over the link. It owns both from then on.
func (l *Link) Join(client, server net.Conn) {
	c := l.connect(client, server)
	switch {
	case c == nil:
		client.Close()
		server.Close()
	case l.cfg.Direct != nil:
		Drain(client, c.flows[toNode])
		Drain(server, c.flows[toClient])
	default:
		startTCP(c)
	}
}

// connect makes a connection of two ends; nil if the link is closed.
func (l *Link) connect(client, server net.Conn) *connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	c := newConnection(l, l.joined, client, server)
	l.joined++
	l.open[c] = true
	return c
}

// inOrder lists the open connections in the order of their creation, so that simultaneous changes have a fixed order.
func (l *Link) inOrder() []*connection {
	return slices.SortedFunc(maps.Keys(l.open), func(a, b *connection) int { return a.number - b.number })
}

// Observe sets the function that is called for each message, and decides whether a command is held.
func (l *Link) Observe(f func() (hold bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.observer = f
}

// Close heals the link, ends its connections and waits until they have ended.
func (l *Link) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.cuts = [2]int{}
	l.delays = [2]time.Duration{}
	for _, way := range ways(history.Both) {
		l.each(way, (*flow).hurry)
	}
	l.letGo()
	for _, c := range l.inOrder() {
		c.closeBoth()
	}
	for len(l.open) > 0 {
		l.idle.Wait()
	}
	return nil
}

// Count returns how many commands of a name have reached the node, and how many
// of them it has answered. EVAL counts EVALSHA too.
func (l *Link) Count(command string) (received, answered int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.counts[command]; c != nil {
		return c.received, c.answered
	}
	return 0, 0
}

func (l *Link) counter(name string) *count {
	c := l.counts[name]
	if c == nil {
		c = &count{}
		l.counts[name] = c
	}
	return c
}

// ended records the end of one direction of a connection.
func (l *Link) ended(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.ends--; c.ends == 0 {
		c.closeBoth()
		delete(l.open, c)
		if len(l.open) == 0 {
			l.idle.Broadcast()
		}
	}
}
