package redlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// The scripts compare and act in one step, for servers that have no command which
// does so (see dialect).
var (
	deleteIfOurs = newScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("del", KEYS[1])
end
return 0`)
	extendIfOurs = newScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("pexpire", KEYS[1], ARGV[2])
end
return 0`)
)

// node is one server of the list. It knows the commands; what their answers
// amount to is decided by others.
type node struct {
	index  int
	addr   string // "" if the client does not tell
	client redis.UniversalClient
	line   *line  // to the same server
	guard  *guard // nil without the rule RestartGuard
	// identified is set once the server has said who it is, or that it won't.
	identified atomic.Bool
	dialect    atomic.Int32 // a dialect: scripts until it has said so
}

// vote is what one node's answer counts for.
type vote int8

const (
	pending vote = iota // no answer yet
	yes                 // taken, extended, deleted
	no                  // the key is another's, or not ours
	failed              // an error: whether it took effect is unknown
)

// set tries to take the key. Its reply tells whose the key is: nil, it was
// nobody's and is now ours; our own token, an earlier sending of this very
// command took it; anything else is its holder's.
func (n *node) set(ctx context.Context, l *Lease) (vote, error) {
	if !n.line.admit() {
		return failed, errNotSent
	}
	defer n.line.finish()
	set := redis.NewStringCmd(ctx, l.take...)
	unsure, err := n.send(ctx, l, set)
	if err != nil {
		return failed, err
	}
	vote, err := l.read(set)
	if vote == yes && unsure != nil {
		return failed, unsure
	}
	return vote, err
}

// send carries out a SET, and asks the server who it is where that is not known.
// It returns why its yes, if it says so, must not count; an error if the list of
// nodes is wrong.
func (n *node) send(ctx context.Context, l *Lease, set *redis.StringCmd) (unsure, err error) {
	switch {
	case n.guard != nil:
		return n.setGuarded(ctx, l, set)
	case l.lock.on(DistinctNodes) && !n.identified.Load():
		_, _, err := n.setAndIdentify(ctx, l.lock, set)
		return nil, err
	default:
		n.line.process(ctx, set)
		return nil, nil
	}
}

// read is a node's vote by its reply to the SET.
func (l *Lease) read(set *redis.StringCmd) (vote, error) {
	switch holder, err := set.Result(); {
	case errors.Is(err, redis.Nil):
		return yes, nil
	case err != nil && strings.Contains(err.Error(), "syntax error"):
		return failed, fmt.Errorf("%w (SET with both NX and GET needs Redis 7.0 or later)", err)
	case err != nil:
		return failed, nodeCause(err)
	case holder == l.token:
		return yes, nil
	default:
		return no, heldBy{holder}
	}
}

// extend sets the key's expiry to the whole TTL from now.
func (n *node) extend(ctx context.Context, l *Lease) (vote, error) {
	if n.guard != nil {
		return n.extendGuarded(ctx, l)
	}
	return n.prolong(ctx, l)
}

// prolong is extend, whatever the server may have forgotten before.
func (n *node) prolong(ctx context.Context, l *Lease) (vote, error) {
	if !l.lock.on(ExtendOwnership) {
		done, err := n.client.PExpire(ctx, l.key, l.ttl).Result()
		return owned(done, err)
	}
	return owned(n.once(ctx, func(d dialect) []any { return d.extension(l) }, extendIfOurs))
}

// delete removes the key.
func (n *node) delete(ctx context.Context, l *Lease) (vote, error) {
	if !l.lock.on(CompareAndDelete) {
		removed, err := n.client.Del(ctx, l.key).Result()
		return owned(removed > 0, err)
	}
	return owned(n.once(ctx, func(d dialect) []any { return d.release(l) }, deleteIfOurs))
}

// script is a Lua script with the SHA-1 that a server knows it by.
type script struct{ source, hash string }

func newScript(source string) script { return script{source, redis.NewScript(source).Hash()} }

// call is the command that runs the script on one key.
func (s script) call(key string, args ...any) []any {
	return append([]any{"evalsha", s.hash, 1, key}, args...)
}

// run carries out a call of a script. It is sent in full only to a server that
// does not know it. One that refuses scripts is asked anew who it is with the next SET:
// it may be the successor of the one that we know, and have a command of its own.
func (n *node) run(ctx context.Context, s script, call []any) *redis.Cmd {
	cmd := redis.NewCmd(ctx, call...)
	n.line.process(ctx, cmd)
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		cmd = redis.NewCmd(ctx, append([]any{"eval", s.source}, call[2:]...)...)
		n.line.process(ctx, cmd)
	}
	if unknown(cmd.Err()) {
		n.identified.Store(false)
	}
	return cmd
}

func owned(done bool, err error) (vote, error) {
	switch {
	case err != nil:
		return failed, nodeCause(err)
	case !done:
		return no, errNotOurs
	default:
		return yes, nil
	}
}

// addressOf is where a client connects to and which database it uses, "" where
// that cannot be told or, behind Sentinel, says nothing about the server.
func addressOf(client redis.UniversalClient) (addr string, db int) {
	c, ok := client.(*redis.Client)
	if !ok || c.Options().Addr == "FailoverClient" {
		return "", 0
	}
	return c.Options().Addr, c.Options().DB
}

// duplicate is ErrDuplicateNode for two nodes, the smaller index first.
func duplicate(a, b *node, what string) error {
	if a.index > b.index {
		a, b = b, a
	}
	return fmt.Errorf("%w: nodes %d%s and %d%s %s; a lock needs independent servers, each listed once",
		ErrDuplicateNode, a.index, inBrackets(a.addr), b.index, inBrackets(b.addr), what)
}

func inBrackets(addr string) string {
	if addr == "" {
		return ""
	}
	return " (" + addr + ")"
}

// background is a context for what goes on after its caller has left: the
// caller's values without its end, and an end of its own after d. This bound is
// housekeeping for the client library, which waits for a connection no longer
// than it (and, with ContextTimeoutEnabled, for a reply); no decision about a
// lease depends on it, so it needs no Clock.
func background(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d)
}
