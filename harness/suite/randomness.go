package suite

import (
	"crypto/rand"
	mathrand "math/rand"
	"os"
	"strings"

	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/overlay"
)

// Locks may use any source of randomness. In a child, the trial's seed determines crypto/rand and math/rand's
// functions. Go cannot seed math/rand/v2, nor the choices of select, of map iteration and among timers of one
// instant: only lockproof test -repeatable seeds these.

// repeatable enables math/rand's Seed, which does nothing by default.
const repeatable = "randautoseed=0,randseednop=0"

// childGODEBUG appends repeatable to the user's GODEBUG.
func childGODEBUG() string {
	return "GODEBUG=" + strings.TrimPrefix(os.Getenv("GODEBUG")+","+repeatable, ",")
}

func seedRandomness(seed uint64) {
	//lint:ignore SA1019 nothing else seeds what other packages draw from math/rand
	mathrand.Seed(int64(seed))
	rand.Reader = locks.Seeded(seed, 0)
	overlay.Seed(seed + 1) // 0 would mean no seed
}
