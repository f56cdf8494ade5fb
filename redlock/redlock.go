package redlock

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/bits"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Redlock is a client of the lock. It is safe for concurrent use. It does not
// own the go-redis clients: close it first, then them.
type Redlock struct {
	options
	nodes []*node
	need  int

	callers atomic.Int32   // who wait for an operation
	work    sync.WaitGroup // operations and all that they leave in the background
	closing chan struct{}  // closed by Close
	retries chan struct{}  // a slot for each release that waits for its next try

	randMu sync.Mutex // guards rand

	mu        sync.Mutex
	closed    bool
	longest   time.Duration    // the longest TTL in use
	servers   map[string]*node // by run id
	duplicate error            // set once two nodes proved to be one server
}

// maxRetries bounds the releases that wait for another try. Where more fail, the
// node is down rather than slow, and its keys go by their TTL.
const maxRetries = 256

// New makes a lock on these nodes: one client for each independent master, in
// any order, the same servers for all who use the lock. It refuses an empty
// list, a nil client, options that make no sense and, unless DistinctNodes is
// off, the same client or the same address and database twice, and beside other
// nodes a client of a Redis Cluster or a ring (ErrDuplicateNode). It contacts no node.
func New(nodes []redis.UniversalClient, opts ...Option) (*Redlock, error) {
	r := &Redlock{
		options: defaults(),
		closing: make(chan struct{}),
		retries: make(chan struct{}, maxRetries),
		servers: map[string]*node{},
	}
	for _, opt := range opts {
		if opt == nil {
			return nil, errors.New("redlock: an option is nil")
		}
		if err := opt(&r.options); err != nil {
			return nil, fmt.Errorf("redlock: %w", err)
		}
	}
	if len(nodes) == 0 {
		return nil, errors.New("redlock: no nodes: give a client for each server, five by custom")
	}
	for i, client := range nodes {
		if err := r.add(i, client); err != nil {
			return nil, fmt.Errorf("redlock: %w", err)
		}
	}
	r.need = quorum(len(nodes), r.on(Majority))
	return r, nil
}

// quorum is how many of n nodes must agree.
func quorum(n int, majority bool) int {
	if majority {
		return n/2 + 1
	}
	return max(1, n/2)
}

func (r *Redlock) add(i int, client redis.UniversalClient) error {
	if v := reflect.ValueOf(client); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("node %d is nil: every node needs a client", i)
	}
	n := &node{index: i, client: client, line: &line{client: client, wait: r.batchWait, callers: &r.callers}}
	var db int
	n.addr, db = addressOf(client)
	if r.on(DistinctNodes) {
		for _, other := range r.nodes {
			if same(other.client, client) {
				return duplicate(other, n, "are the same client")
			}
			if _, otherDB := addressOf(other.client); n.addr != "" && other.addr == n.addr && otherDB == db {
				return duplicate(other, n, fmt.Sprintf("have the same address and database %d", db))
			}
			if spreads(other.client) || spreads(client) {
				return duplicate(other, n, "may be one server: a client of a Redis Cluster or a ring asks whichever has the key")
			}
		}
	}
	if r.guarded() {
		var err error
		if n.guard, err = newGuard(client, r.longestTTL+r.margin(r.longestTTL)); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
	}
	r.nodes = append(r.nodes, n)
	return nil
}

// spreads says whether a client picks the server by the key. N clients of one Redis
// Cluster have different addresses and one server for a key; and INFO, which names no
// key, is answered by any master, so that run ids tell them apart or not by chance.
func spreads(client redis.UniversalClient) bool {
	switch client.(type) {
	case *redis.ClusterClient, *redis.Ring:
		return true
	}
	return false
}

// same compares two clients; a type that cannot be compared is never the same.
func same(a, b redis.UniversalClient) bool {
	return reflect.TypeOf(a).Comparable() && reflect.TypeOf(b).Comparable() && a == b
}

// claim notes that a server is a node's, or refuses if it is another's. From
// then on the lock refuses all work: its list is wrong.
func (r *Redlock) claim(ctx context.Context, runID string, n *node) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if other, ok := r.servers[runID]; ok && other != n {
		known := r.duplicate != nil
		r.duplicate = duplicate(other, n, "are one server with run id "+runID)
		if !known {
			r.warn(ctx, "the list of nodes is wrong, and the lock refuses all work", slog.Any("error", r.duplicate))
		}
		return r.duplicate
	}
	r.servers[runID] = n
	return nil
}

// enter admits work unless the lock is closed; who asked ends it with work.Done.
// What the work leaves in the background is counted before it ends, so that Close
// waits for all of it.
func (r *Redlock) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	r.work.Add(1)
	return nil
}

// begin admits an operation that a caller waits for; end ends it.
func (r *Redlock) begin() error {
	if err := r.enter(); err != nil {
		return err
	}
	r.callers.Add(1)
	return nil
}

func (r *Redlock) end() {
	r.callers.Add(-1)
	r.work.Done()
}

// Close refuses new work, ends attempts, watchdogs and waits that are under way
// (with ErrClosed), and waits for every call and release in the background, so
// that nothing of the lock is left running. Leases are not released: their keys
// go by their TTL. A hung node can hold a call for as long as its go-redis
// client lets it, and three can follow each other: a SET, its release, and the
// last try of that. After three times the longest TTL in use Close stops waiting
// and says so, and the calls end when the clients are closed. A second Close waits
// like the first.
func (r *Redlock) Close() error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.closing)
	}
	limit := 3*r.longest + time.Second
	r.mu.Unlock()

	done := make(chan struct{})
	go func() {
		r.work.Wait()
		close(done)
	}()
	timer := r.clock.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C():
		return fmt.Errorf(
			"redlock: close: calls to nodes are still under way after %s; they end when the go-redis clients are closed", limit)
	}
}

// newToken draws a token: 20 random bytes in hex.
func (r *Redlock) newToken() (string, error) {
	var b [20]byte
	if err := r.draw(b[:]); err != nil {
		return "", fmt.Errorf("redlock: drawing a token: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// retryDelay draws the delay before the next attempt, uniformly from the range.
func (r *Redlock) retryDelay() (time.Duration, error) {
	width := r.retryMax - r.retryMin
	if !r.on(RetryJitter) {
		return r.retryMin + width/2, nil
	}
	var b [8]byte
	if err := r.draw(b[:]); err != nil {
		return 0, fmt.Errorf("redlock: drawing a retry delay: %w", err)
	}
	part, _ := bits.Mul64(binary.BigEndian.Uint64(b[:]), uint64(width)+1)
	return r.retryMin + time.Duration(part), nil
}

func (r *Redlock) draw(b []byte) error {
	r.randMu.Lock()
	defer r.randMu.Unlock()
	_, err := io.ReadFull(r.rand, b)
	return err
}
