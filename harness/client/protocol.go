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

// Setup is the first line to a worker: its name, lock and servers.
type Setup struct {
	Name string `json:"name"`
	// Index is the client's number, from 0; it varies the seed.
	Index   int           `json:"index"`
	Lock    string        `json:"lock"`
	Options locks.Options `json:"options"`
	// KeyPrefix is the prefix of each key in this client's version of the lock.
	KeyPrefix string `json:"key_prefix,omitempty"`
	// Nodes are the addresses of the lock's servers for this client, each over its own link, and Store is the store's.
	Nodes []string `json:"nodes"`
	Store string   `json:"store"`
	// Password is the password of all of these servers; "" if they have none.
	Password string `json:"password,omitempty"`
	// Sentinels, if any, are the addresses of Sentinels that report the lock's one node; they replace Nodes. Routes maps
	// each address that Sentinels report to this client's own.
	Sentinels []string          `json:"sentinels,omitempty"`
	Routes    map[string]string `json:"routes,omitempty"`
	// ClusterClients, if above 0, is the number of clients of one Redis Cluster that are the lock's nodes; Nodes are the
	// cluster's masters. TaggedKeys: the i-th client uses the key {i}:key, in a different slot. Routes maps the
	// addresses that the cluster reports.
	ClusterClients int  `json:"cluster_clients,omitempty"`
	TaggedKeys     bool `json:"tagged_keys,omitempty"`
	// FencedStore: the store rejects writes with an older fencing token. ReadsUnfenced: reads send no token.
	// CompareStore: the store rejects writes whose base is not the current version.
	FencedStore   bool   `json:"fenced_store,omitempty"`
	ReadsUnfenced bool   `json:"reads_unfenced,omitempty"`
	CompareStore  bool   `json:"compare_store,omitempty"`
	Seed          uint64 `json:"seed"`
	// Epoch is the CLOCK_MONOTONIC reading, in nanoseconds, at which the run
	// began; 0 in virtual time.
	Epoch int64 `json:"epoch,omitempty"`
	// Renews: the lock renews its key by itself, as its first lease showed. Without a declared belief, clients then rely
	// on a lease until they release it.
	Renews bool `json:"renews,omitempty"`
	// StallLimit is the lateness above which the worker reports a stall.
	StallLimit time.Duration `json:"stall_limit,omitempty"`
}

// Complete fills in the cluster's fields. The setup may name its nodes; the default is all. reach returns a server's
// address for this client, "" for an unknown name.
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
	DoAcquire    = Do(history.OpAcquire)
	DoExtend     = Do(history.OpExtend)
	DoRelease    = Do(history.OpRelease)
	DoCheck      = Do(history.OpCheck)
	DoRead       = Do(history.OpRead)
	DoWrite      = Do(history.OpWrite)
	DoWatch   Do = "watch"  // start the current lease's watchdog
	DoLoop    Do = "loop"   // repeat: acquire, read, hold, write, release, think
	DoStop    Do = "stop"   // end the loop after its current round
	DoCancel  Do = "cancel" // cancel the context of the pending operations
	DoClock   Do = "clock"  // set the client's clocks
	DoStarve  Do = "starve" // delay the lock's timers
	DoFeed    Do = "feed"   // run the delayed timers, and report how late they were
	DoExit    Do = "exit"   // close the lock and end; only to a process
)

// Operation is the operation that the command carries out, "" if it carries out none.
func (d Do) Operation() history.Op {
	if slices.Contains([]Do{DoAcquire, DoExtend, DoRelease, DoCheck, DoRead, DoWrite}, d) {
		return history.Op(d)
	}
	return ""
}

// immediate reports whether the client executes the command at once; others queue up in a thread.
func (d Do) immediate() bool {
	return slices.Contains([]Do{DoStop, DoCancel, DoClock, DoStarve, DoFeed, DoExit}, d)
}

// Command is one line to a worker. Acquire, extend, release, check, read, write, watch and loop queue up behind one
// another; the worker executes the others at once.
type Command struct {
	Do Do `json:"do"`
	// Serial is the number in the command's Done line.
	Serial int    `json:"serial"`
	Key    string `json:"key,omitempty"`
	// Thread names the thread that executes the command; "" is the first. Threads share the client and its lock object,
	// and each has its own queue.
	Thread string `json:"thread,omitempty"`
	// Within is the timeout of the operation's context.
	Within time.Duration `json:"within,omitempty"`
	// IfHeld: skip the command unless the client's latest acquire of the key succeeded and its lease is not released.
	IfHeld bool      `json:"if_held,omitempty"`
	Loop   *Loop     `json:"loop,omitempty"`
	Clock  *SetClock `json:"clock,omitempty"`
}

// Loop is a closed loop of work. Hold and Think are means; each round draws from half to one and a half of them.
type Loop struct {
	Keys  []string      `json:"keys"`
	Hold  time.Duration `json:"hold"`
	Think time.Duration `json:"think"`
}

// SetClock changes a client's clocks: the wall clock jumps, or both clocks change their rate.
type SetClock struct {
	Jump time.Duration `json:"jump,omitempty"`
	Rate float64       `json:"rate,omitempty"` // 0: as before
}

// Message is one line from a worker: an event of the history, or the end of a command. Error is why the command was
// impossible; the lock's errors are in events.
type Message struct {
	Event *history.Event `json:"event,omitempty"`
	Done  int            `json:"done,omitempty"` // Serial of the ended command
	// Outcome of the command's operation: ok, fail or info; "" if it has none.
	Outcome history.Type `json:"outcome,omitempty"`
	Error   string       `json:"error,omitempty"`
	// Starved is the timers' lateness, with the end of DoFeed.
	Starved *cluster.Late `json:"starved,omitempty"`
	// Lock has the abilities that the first lease showed, in a message of its own.
	Lock *locks.Abilities `json:"lock,omitempty"`
}

// Host is a cluster that runs clients; every kind's cluster is one.
type Host interface {
	cluster.Cluster
	// Spawn starts a client; messages receives its messages, one call at a time. The cluster fills in the setup's
	// addresses, epoch and seed.
	Spawn(ctx context.Context, setup Setup, messages func(Message)) (Worker, error)
}

// Worker controls a client.
type Worker interface {
	// Send sends a command; its results are Messages to the function that Spawn received.
	Send(Command) error
	// Pause suspends the client (SIGSTOP) until Resume. Both return once the effect is verified.
	Pause() error
	Resume() error
	// Kill ends it without a chance to clean up (SIGKILL).
	Kill() error
	// Close ends it in good order and waits for it.
	Close() error
}
