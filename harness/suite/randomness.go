package suite

import (
	"crypto/rand"
	mathrand "math/rand"
	randv2 "math/rand/v2"
	"os"
	"strings"
	"sync"

	"example.org/lockproof/harness/overlay"
)

// Locks draw tokens and jitter from where they like. In a child, what they draw from crypto/rand and from the top
// level of math/rand follows from the trial's seed. Go has no switch for math/rand/v2, and for the order in which a
// select, a map or timers of one instant choose: only lockproof test -repeatable seeds these.

// repeatable are the settings that let math/rand be seeded: without them, its Seed does nothing.
const repeatable = "randautoseed=0,randseednop=0"

// childGODEBUG is the variable for a child, with what the user has set before what it needs.
func childGODEBUG() string {
	return "GODEBUG=" + strings.TrimPrefix(os.Getenv("GODEBUG")+","+repeatable, ",")
}

// seedRandomness makes repeatable what a process draws from now on.
func seedRandomness(seed uint64) {
	//lint:ignore SA1019 nothing else seeds what other packages draw from math/rand
	mathrand.Seed(int64(seed))
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	rand.Reader = &seededReader{source: randv2.NewChaCha8(key)}
	overlay.Seed(seed + 1) // 0 would be none
}

// seededReader may be read from several goroutines.
type seededReader struct {
	mu     sync.Mutex
	source *randv2.ChaCha8
}

func (r *seededReader) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.source.Read(b)
}
