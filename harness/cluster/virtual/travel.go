package virtual

import (
	"hash/fnv"
	"sync/atomic"
	"time"
)

// defaultDelay is the base one-way delay of a link that no one has set: a
// local network's.
const defaultDelay = 200 * time.Microsecond

// travel draws how long messages are under way on one link. Each draw depends
// on the seed, the link, the direction, the connection and the number of the
// message there, and on nothing that came before.
type travel struct {
	seed  uint64
	base  int64 // of the one-way delay
	grid  int64 // delays are multiples of it
	dials atomic.Int64
}

func newTravel(seed uint64, base, grid time.Duration) *travel {
	if base <= 0 {
		base = defaultDelay
	}
	return &travel{seed: seed, base: int64(base), grid: max(1, int64(grid))}
}

// message is the link's Travel function.
func (t *travel) message(toNode bool, connection, message int) time.Duration {
	way := uint64(1)
	if toNode {
		way = 0
	}
	return t.draw(way, connection, message)
}

// dial gives the number of a connection that is to be set up, and how long that takes, or
// takes to be refused: there and back.
func (t *travel) dial() (number int, after time.Duration) {
	number = int(t.dials.Add(1) - 1)
	return number, time.Duration(t.base) + t.draw(2, number, 0)
}

// draw gives the base delay and up to half as much again.
func (t *travel) draw(way uint64, connection, message int) time.Duration {
	h := scramble(scramble(t.seed+way) + uint64(connection)<<32 + uint64(message))
	delay := t.base + int64(h%uint64(t.base/2+1))
	return time.Duration(delay - delay%t.grid)
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
