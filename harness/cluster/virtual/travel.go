package virtual

import (
	"hash/fnv"
	"sync/atomic"
	"time"
)

// defaultDelay is the default one-way delay of a link, typical of a local network.
const defaultDelay = 200 * time.Microsecond

// travel draws the travel times of messages on one link. Each draw depends only on the seed, the link, the direction,
// the connection and the number of the message there, not on earlier draws.
type travel struct {
	seed  uint64
	base  int64 // the shortest one-way delay
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

// dial returns the number of a new connection, and the time until it is made or refused: a round trip.
func (t *travel) dial() (number int, after time.Duration) {
	number = int(t.dials.Add(1) - 1)
	return number, time.Duration(t.base) + t.draw(2, number, 0)
}

// draw returns a delay of 1 to 1.5 times the base, rounded down to the grid.
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

// mix derives a seed from words.
func mix(seed uint64, words ...string) uint64 {
	h := fnv.New64a()
	for _, w := range words {
		h.Write([]byte(w))
		h.Write([]byte{0})
	}
	return scramble(seed ^ scramble(h.Sum64()))
}
