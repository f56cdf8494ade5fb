package builtin

import (
	"context"
	"fmt"
	"strconv"
)

func init() {
	fencedBy("redlock-fenced-by-lock-token",
		"Redlock whose unique token is taken for a fencing token: it names a lease, and says nothing of its turn",
		(*fenced).lockTokenAsNumber)
}

// fenceDigits is the number of the token's hex digits in a number that a store's script compares exactly: Lua's
// numbers are doubles, of 53 bits.
const fenceDigits = 12

// lockTokenAsNumber makes the mistake that Kleppmann (2016) warns of: the
// random value that Redlock generates is unique, but not monotonic.
func (*fenced) lockTokenAsNumber(_ context.Context, _, owner string) (int64, error) {
	n, err := strconv.ParseInt(owner[:fenceDigits], 16, 64)
	if err != nil {
		return 0, fmt.Errorf("make a number of the token %s: %w", owner, err)
	}
	return n + 1, nil // 0 means no token
}
