package builtin

import (
	"fmt"
	"io"

	"example.org/lockproof/harness/locks"
)

func init() {
	onOneNode("single-process-token",
		"one node, naive: one token for all that a process takes, as of its host and process id", newProcessToken)
}

func newProcessToken(env locks.Env) (locks.Lock, error) {
	token := make([]byte, tokenBytes)
	if _, err := io.ReadFull(env.Rand, token); err != nil {
		return nil, fmt.Errorf("draw the process's token: %w", err)
	}
	env.Rand = processToken(token)
	return newSingle(env)
}

// processToken is the mistake: every draw returns the process's token.
type processToken []byte

func (p processToken) Read(b []byte) (int, error) { return copy(b, p), nil }
