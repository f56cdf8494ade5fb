package redlock

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// dialect is the commands in which a server compares and acts in one step. Between
// a GET and a DEL of two commands the key can expire and become another's.
type dialect int32

const (
	scripts dialect = iota // every server that allows them
	redis84                // DELEX key IFEQ token, and SET key token IFEQ token (Redis 8.4)
	valkey9                // DELIFEQ key token (Valkey 9.0), and SET as above (8.1)
)

// dialectOf is what a server of that product and version speaks. Other products say
// that they are a Redis of some version: none says 8.4 so far and lacks its commands,
// and one that does is answered as if it had been a Redis of before (see once).
func dialectOf(who identity) dialect {
	switch {
	case who.product == "valkey" && atLeast(who.version, 9, 0):
		return valkey9
	case who.product == "redis" && atLeast(who.version, 8, 4):
		return redis84
	default:
		return scripts
	}
}

// atLeast compares the first two numbers of a version.
func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(parts[1])
	return errA == nil && errB == nil && (a > major || a == major && b >= minor)
}

// release is the command that deletes the lease's key if it is ours.
func (d dialect) release(l *Lease) []any {
	switch d {
	case redis84:
		return []any{"delex", l.key, "ifeq", l.token}
	case valkey9:
		return []any{"delifeq", l.key, l.token}
	default:
		return l.give
	}
}

// extension is the command that gives the lease's key its whole TTL anew if it is
// ours.
func (d dialect) extension(l *Lease) []any {
	if d == scripts {
		return extendIfOurs.call(l.key, l.token, l.ttl.Milliseconds())
	}
	return []any{"set", l.key, l.token, "ifeq", l.token, "px", l.ttl.Milliseconds()}
}

// once carries out one of the two in the node's dialect, and by the script where the
// server does not know the command after all, or its user may not use it: it has
// been replaced by an older one, or is no server of that kind. It reports whether the
// key was ours.
func (n *node) once(ctx context.Context, command func(dialect) []any, s script) (bool, error) {
	if d := dialect(n.dialect.Load()); d != scripts {
		cmd := redis.NewCmd(ctx, command(d)...)
		n.line.process(ctx, cmd)
		if !unknown(cmd.Err()) {
			return found(cmd)
		}
		n.dialect.Store(int32(scripts))
	}
	return found(n.run(ctx, s, command(scripts)))
}

// unknown reports whether a server refused a command because of what it is.
func unknown(err error) bool {
	for _, prefix := range []string{"unknown command", "syntax error", "NOPERM"} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}

// found reads the answer: a count of keys, OK, or nil.
func found(cmd *redis.Cmd) (bool, error) {
	switch answer, err := cmd.Result(); answer := answer.(type) {
	case int64:
		return answer > 0, err
	case string:
		return answer == "OK", err
	default:
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		return false, err
	}
}
