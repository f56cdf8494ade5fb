package builtin

import (
	"encoding/binary"
	"io"

	"example.org/lockproof/harness/locks"
	"example.org/lockproof/redlock"
)

func init() {
	locks.Register(locks.Kind{
		Name:      "redlock-guessable",
		Doc:       "the reference with tokens made of the time in seconds and a process id, which is 1 in every container",
		New:       newGuessable,
		Abilities: redlockCan, Rules: true, Majority: true,
	})
}

// guessableProcess is the process id of every client that is the first process of its container.
const guessableProcess = 1

func newGuessable(env locks.Env) (locks.Lock, error) {
	env.Rand = guessable{env.Rand, env.Clock}
	return newReference(env, 0)
}

// guessable replaces random bytes: a token is the time and a process id, as an older redis.io page allowed ("unix time
// with microseconds resolution, concatenating it with a client ID").
type guessable struct {
	random io.Reader
	clock  redlock.Clock
}

func (g guessable) Read(p []byte) (int, error) {
	if len(p) != tokenBytes { // a delay between attempts
		return g.random.Read(p)
	}
	clear(p)
	binary.BigEndian.PutUint64(p, uint64(g.clock.Wall().Unix()))
	p[len(p)-1] = guessableProcess
	return len(p), nil
}
