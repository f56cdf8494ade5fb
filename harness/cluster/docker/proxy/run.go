package proxy

import (
	"fmt"
	"net"
	"sync"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/network"
	"example.org/lockproof/harness/history"
)

// run is one run: its links, and what has passed over them.
type run struct {
	*network.Network
	ended bool

	mu     sync.Mutex
	events []history.Event
	kept   []func() cluster.Traffic // what reads intercepts and measurements
}

// mostPorts bounds what a message can ask for: some 300 clients on every server.
const mostPorts = 3000

// openRun opens the links, each on a port of its own.
func openRun(want network.Run) (r *run, err error) {
	if n := want.Ports(); n > mostPorts {
		return nil, fmt.Errorf("the links of a run need %d ports: %d are the most", n, mostPorts)
	}
	r = &run{}
	r.Network, err = network.Open(want, func() (net.Listener, error) { return net.Listen("tcp", ":0") }, r.record)
	return r, err
}

func (r *run) record(e history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// mostAtOnce is how many events one message has, so that it stays within longestBody.
const mostAtOnce = 500

// since gives events beyond the first so many.
func (r *run) since(seen int) ([]history.Event, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if seen < 0 || seen > len(r.events) {
		return nil, fmt.Errorf("the run has had %d events, and not %d", len(r.events), seen)
	}
	return r.events[seen:min(seen+mostAtOnce, len(r.events))], nil
}

// keep gives what reads an intercept or a measurement a number, from 1.
func (r *run) keep(reads func() cluster.Traffic) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, reads)
	return len(r.kept)
}

// read reads the one of that number.
func (r *run) read(n int) (cluster.Traffic, error) {
	r.mu.Lock()
	kept := r.kept
	r.mu.Unlock() // a link that records waits for it, and what is read for the link
	if n < 1 || n > len(kept) {
		return cluster.Traffic{}, fmt.Errorf("no intercept or measurement has the number %d", n)
	}
	return kept[n-1](), nil
}
