package proxy

import (
	"fmt"
	"net"
	"sync"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/network"
	"example.org/lockproof/harness/history"
)

// run is one run: its links and their events.
type run struct {
	*network.Network
	ended bool

	mu      sync.Mutex
	events  []history.Event
	readers []func() cluster.Traffic // of intercepts and measurements
}

// maxPorts bounds a message's ports: some 300 clients on every server.
const maxPorts = 3000

// openRun opens the links, each on its own port.
func openRun(want network.Run) (r *run, err error) {
	if n := want.Ports(); n > maxPorts {
		return nil, fmt.Errorf("the links of a run need %d ports: %d are the most", n, maxPorts)
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

// maxEvents bounds the events of one message, so that it stays below maxBody.
const maxEvents = 500

// since returns the next events after the first seen.
func (r *run) since(seen int) ([]history.Event, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if seen < 0 || seen > len(r.events) {
		return nil, fmt.Errorf("the run has had %d events, and not %d", len(r.events), seen)
	}
	return r.events[seen:min(seen+maxEvents, len(r.events))], nil
}

// keep numbers the reader of an intercept or a measurement, from 1.
func (r *run) keep(reader func() cluster.Traffic) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readers = append(r.readers, reader)
	return len(r.readers)
}

// read reads the intercept or measurement with a number.
func (r *run) read(n int) (cluster.Traffic, error) {
	r.mu.Lock()
	readers := r.readers
	r.mu.Unlock() // a recording link waits for this lock, and a reader waits for the link
	if n < 1 || n > len(readers) {
		return cluster.Traffic{}, fmt.Errorf("no intercept or measurement has the number %d", n)
	}
	return readers[n-1](), nil
}
