package virtual

import (
	"hash/fnv"
	"sync"
	"time"
)

// defaultDelay is the base one-way delay of a link that no one has set: a
// local network's.
const defaultDelay = 200 * time.Microsecond

// Arrivals are spread over a comb: the nanoseconds of every comb's length are
// shared out among the links, their directions and their connections, so that
// no two messages arrive at one instant, also of those that a fault held. The order of
// what happens is then a matter of the seed alone, not of how goroutines are
// scheduled. The length divides a millisecond, in which faults delay messages.
const (
	comb     = 10 * int64(time.Microsecond)
	longComb = 100 * int64(time.Microsecond) // for more links than comb has room for
	// tooth is the distance between two connections of one direction: a node
	// answers a command a nanosecond or a few after it has arrived.
	tooth = 4
)

// travel draws how long messages are under way on one link. Each draw depends
// on the seed, the link, the direction, the connection and the number of the
// message there, and on nothing that came before.
type travel struct {
	seed  uint64
	now   func() int64
	base  int64 // of the one-way delay
	comb  int64
	first int64 // of the link's share of the comb
	room  int64 // for each of the link's directions

	mu    sync.Mutex
	dials int
}

// newTravel makes the travel times of the link that is number slot of links.
func newTravel(seed uint64, now func() int64, base time.Duration, slot, links int) *travel {
	if base <= 0 {
		base = defaultDelay
	}
	t := &travel{seed: seed, now: now, base: int64(base), comb: comb}
	if comb/int64(links) < 8*tooth {
		t.comb = longComb
	}
	share := max(t.comb/int64(links), 2*tooth)
	t.first, t.room = share*int64(slot), share/2
	return t
}

// message is the link's Travel function.
func (t *travel) message(toNode bool, connection, message int) time.Duration {
	return t.draw(wayOf(toNode), connection, message)
}

// wayOf numbers the directions.
func wayOf(toNode bool) uint64 {
	if toNode {
		return 0
	}
	return 1
}

// dial is how long it takes to set up a connection, or to be refused: there
// and back.
func (t *travel) dial() time.Duration {
	t.mu.Lock()
	number := t.dials
	t.dials++
	t.mu.Unlock()
	return time.Duration(t.base) + t.draw(2, number, 0)
}

// draw gives the base delay and up to half as much again, such that the
// arrival falls on the comb.
func (t *travel) draw(way uint64, connection, message int) time.Duration {
	h := scramble(scramble(t.seed+way) + uint64(connection)<<32 + uint64(message))
	now := t.now()
	arrival := now + t.base + int64(h%uint64(t.base/2+1))
	return time.Duration(arrival + t.toComb(arrival, way, connection) - now)
}

// toComb is how long it is from an arrival to the connection's place on the comb.
func (t *travel) toComb(arrival int64, way uint64, connection int) int64 {
	offset := t.first + int64(way&1)*t.room + int64(connection)*tooth%t.room
	return ((offset-arrival)%t.comb + t.comb) % t.comb
}

// settle is the link's Settle function: none for a message that is on the comb. A
// fault that ends lets go what it held on many connections at one instant; each
// of these takes its place on the comb, where there is not room for all on one of
// the next.
func (t *travel) settle(toNode bool, connection int) time.Duration {
	wait := t.toComb(t.now(), wayOf(toNode), connection)
	if wait > 0 {
		wait += int64(connection) * tooth / t.room * t.comb
	}
	return time.Duration(wait)
}

// scramble is the finalizer of splitmix64: it turns counters into noise.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// mix derives a seed of its own for whatever the words name.
func mix(seed uint64, words ...string) uint64 {
	h := fnv.New64a()
	for _, w := range words {
		h.Write([]byte(w))
		h.Write([]byte{0})
	}
	return scramble(seed ^ scramble(h.Sum64()))
}
