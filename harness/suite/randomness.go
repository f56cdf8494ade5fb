package suite

import (
	"crypto/rand"
	mathrand "math/rand"
	"os"
	"strings"

	"example.org/lockproof/harness/locks"
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
	rand.Reader = locks.Seeded(seed, 0)
	overlay.Seed(seed + 1) // 0 would be none
}
