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

// Config says what a link joins and whom it tells.
type Config struct {
	Client, Node string
	Now          func() int64        // the true clock
	Record       func(history.Event) // takes the command and reply events
	// Epoch is the date at which the run began, by a wall clock that is right.
	Epoch time.Time
	// Travel is how long a message takes, by direction, connection and number
	// of the message on that connection, both from 0; nil: no time of its own.
	Travel func(toNode bool, connection, message int) time.Duration
	// Scripts is what the run's links know of Lua scripts; nil: a set of its own.
	Scripts *script.Scripts
	// Direct: its connections are in memory, the ends of a Pipe each, and go without
	// toxiproxy: the link does its faults itself, and this scheduler lets messages
	// arrive; nil: with it.
	Direct *scheduler.Scheduler
	// Order says which link's messages go first where several arrive at one instant.
	Order int
	// Opaque: what passes is no sequence of commands and replies (a replication
	// stream, a subscription). It is passed on as it comes.
	Opaque bool
}

// Link is a cluster.Link over toxiproxy, unless it is direct.
type Link struct {
	cfg  Config
	name string

	// The lock guards all that follows, and the connections with their flows. It is not held while a message arrives:
	// whoever receives it may answer at once.
	mu         sync.Mutex
	cuts       [2]int // how many cuts are in effect, by direction
	delays     [2]time.Duration
	meters     [2][]*meter
	joined     int // connections so far
	open       map[*connection]bool
	intercepts []*intercept
	placed     int               // how many intercepts there have been
	own        map[string]string // the token with which a key was last given to the client
	serial     int64
	counts     map[string]*count
	closed     bool
	idle       *sync.Cond // open became empty
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

// Join lets traffic flow between a client's end and a server's end, through the
// link's faults. It owns both from then on.
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

// inOrder lists the open connections in the order in which they came: what happens to all
// of them at one instant happens in the same order each time.
func (l *Link) inOrder() []*connection {
	return slices.SortedFunc(maps.Keys(l.open), func(a, b *connection) int { return a.number - b.number })
}

// Close heals the link, ends its connections and waits until they have ended.
func (l *Link) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.cuts = [2]int{}
	l.setDelay(history.Both, 0)
	l.letGo()
	for _, c := range l.inOrder() {
		c.closeBoth()
	}
	for len(l.open) > 0 {
		l.idle.Wait()
	}
	return nil
}

// Count says how many commands of a name have reached the node, and how many
// of them it has answered. EVAL counts EVALSHA too.
func (l *Link) Count(command string) (received, answered int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.counts[command]; c != nil {
		return c.received, c.answered
	}
	return 0, 0
}

// counter gives the count of a command.
func (l *Link) counter(name string) *count {
	c := l.counts[name]
	if c == nil {
		c = &count{}
		l.counts[name] = c
	}
	return c
}

// ended notes that one direction of a connection is over.
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
