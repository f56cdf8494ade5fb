package client

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// Setup is the first line that a worker reads: who it is and what it uses.
type Setup struct {
	Name string `json:"name"`
	// Index is the client's number, from 0: it spreads seeds.
	Index   int           `json:"index"`
	Lock    string        `json:"lock"`
	Options locks.Options `json:"options"`
	// KeyPrefix is what this client's version of the lock puts before each key.
	KeyPrefix string `json:"key_prefix,omitempty"`
	// Nodes are the addresses of the lock's servers as this client reaches
	// them (each through its own link), and Store that of the store.
	Nodes []string `json:"nodes"`
	Store string   `json:"store"`
	// Password is what all of these servers ask for; "" if they ask for none.
	Password string `json:"password,omitempty"`
	// Sentinels, if there are any, are whom the client asks for the one node that
	// it locks on, in place of Nodes; it reaches them at these addresses. Routes
	// gives, for each address that Sentinels give, where the client reaches what
	// is there.
	Sentinels []string          `json:"sentinels,omitempty"`
	Routes    map[string]string `json:"routes,omitempty"`
	// ClusterClients, if above 0, is how many clients of the Redis Cluster whose masters
	// Nodes are the lock is given as its nodes. TaggedKeys: the i-th has the key {i}:key,
	// a slot of its own. Routes is about the addresses that the cluster gives.
	ClusterClients int  `json:"cluster_clients,omitempty"`
	TaggedKeys     bool `json:"tagged_keys,omitempty"`
	// FencedStore: the store rejects writes with an older fencing token.
	// ReadsUnfenced: reads bring it no token, so that it learns of one by a write.
	// CompareStore: it rejects writes whose base is not the present version.
	FencedStore   bool   `json:"fenced_store,omitempty"`
	ReadsUnfenced bool   `json:"reads_unfenced,omitempty"`
	CompareStore  bool   `json:"compare_store,omitempty"`
	Seed          uint64 `json:"seed"`
	// Epoch is the CLOCK_MONOTONIC reading, in nanoseconds, at which the run
	// began; 0 in virtual time.
	Epoch int64 `json:"epoch,omitempty"`
	// Renews: the lock was seen to renew its key by itself. Where nothing else is declared, clients
	// then believe in a lease until they release it.
	Renews bool `json:"renews,omitempty"`
	// StallLimit is the lateness from which on the worker reports a stall.
	StallLimit time.Duration `json:"stall_limit,omitempty"`
}

// Complete fills in what a cluster knows of a client, which may have named its nodes, or has all. reach gives where it
// reaches a server, "" where there is none of that name.
func (s *Setup) Complete(cfg cluster.Config, reach func(server string) string) error {
	if !slices.Contains(cfg.Clients, s.Name) {
		return fmt.Errorf("there is no such client: there are %v", cfg.Clients)
	}
	names := s.Nodes
	if len(names) == 0 {
		names = cfg.Nodes
	}
	s.Nodes = nil
	for _, name := range names {
		address := reach(name)
		if address == "" {
			return fmt.Errorf("there is no node %s: there are %v", name, cfg.Nodes)
		}
		s.Nodes = append(s.Nodes, address)
	}
	s.Store, s.Seed, s.StallLimit = reach(history.StoreName), cfg.Seed, cfg.StallLimit
	return nil
}

// Do names a command to a client.
type Do string

// The commands.
const (
	DoAcquire Do = "acquire"
	DoExtend  Do = "extend"
	DoRelease Do = "release"
	DoCheck   Do = "check"
	DoRead    Do = "read"
	DoWrite   Do = "write"
	DoWatch   Do = "watch"  // keep the present lease extended
	DoLoop    Do = "loop"   // acquire, read, hold, write, release, think, again and again
	DoStop    Do = "stop"   // end the loop after its present round
	DoCancel  Do = "cancel" // cancel the context of the operation under way
	DoClock   Do = "clock"  // set the client's clocks
	DoStarve  Do = "starve" // let the lock's timers wait when they are due
	DoFeed    Do = "feed"   // let them go on, and tell how late they were
	DoExit    Do = "exit"   // close the lock and end
)

// immediate reports whether the command is to the client, and acts at once; others queue up in a thread.
func (d Do) immediate() bool {
	return slices.Contains([]Do{DoStop, DoCancel, DoClock, DoStarve, DoFeed, DoExit}, d)
}

// Command is one line to a worker. Acquire, extend, release, check, read,
// write, watch and loop queue up behind one another; the others act at once.
type Command struct {
	Do Do `json:"do"`
	// Serial joins the command to its Done line.
	Serial int    `json:"serial"`
	Key    string `json:"key,omitempty"`
	// Thread names the one of those that share the client, and its lock object, that
	// carries the command out; "" is the first. Commands queue up behind those of
	// their thread alone.
	Thread string `json:"thread,omitempty"`
	// Within bounds the operation: its context ends then.
	Within time.Duration `json:"within,omitempty"`
	// IfHeld: it is nothing to do, and no operation, unless the client's latest acquire
	// of the key has succeeded and its lease was not released since.
	IfHeld bool      `json:"if_held,omitempty"`
	Loop   *Loop     `json:"loop,omitempty"`
	Clock  *SetClock `json:"clock,omitempty"`
}

// Loop is a closed loop of work. Hold and Think are means; each round draws
// from half to one and a half of them.
type Loop struct {
	Keys  []string      `json:"keys"`
	Hold  time.Duration `json:"hold"`
	Think time.Duration `json:"think"`
}

// SetClock changes a client's clock: the wall clock jumps, or both clocks run
// at another rate.
type SetClock struct {
	Jump time.Duration `json:"jump,omitempty"`
	Rate float64       `json:"rate,omitempty"` // 0: as before
}

// Message is one line from a worker: an event of the history, or the end of a
// command, with the error that made it impossible (not one of the lock's: those
// are events).
type Message struct {
	Event *history.Event `json:"event,omitempty"`
	Done  int            `json:"done,omitempty"` // Serial of the command that ended
	// Outcome of the command's operation: ok, fail or info; "" if it has none.
	Outcome history.Type `json:"outcome,omitempty"`
	Error   string       `json:"error,omitempty"`
	// Starved is, with the end of DoFeed, what was late.
	Starved *cluster.Late `json:"starved,omitempty"`
	// Lock is what a first lease has shown of the lock, by itself in a message.
	Lock *locks.Abilities `json:"lock,omitempty"`
}

// Host is a cluster that clients run on, as that of every kind is.
type Host interface {
	cluster.Cluster
	// Spawn starts a client; messages takes what it says, one call at a time.
	// The setup's addresses, epoch and seed are the cluster's to fill in.
	Spawn(ctx context.Context, setup Setup, messages func(Message)) (Worker, error)
}

// Worker is a client under the harness's command.
type Worker interface {
	// Send hands over a command; what comes of it arrives as Messages at the
	// function given when the worker was spawned.
	Send(Command) error
	// Pause stops the client where it stands (SIGSTOP), Resume carries it on.
	// Both return once that has been seen to be so.
	Pause() error
	Resume() error
	// Kill ends it without a chance to clean up (SIGKILL).
	Kill() error
	// Close ends it in good order and waits for it.
	Close() error
}
