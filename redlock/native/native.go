package native

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/server"
)

// Commands is a decorator that replaces scripts.
func Commands(servers []*server.Server, nodes []redlock.Node) error {
	for i, s := range servers {
		n := &node{Server: s, next: nodes[i], send: s.Send}
		s.Send = n.sendAndIdentify
		nodes[i] = n
	}
	return nil
}

// dialect is a server's command that compares and deletes in one step. A server that has one also has SET IFEQ.
type dialect func(redlock.Claim) []any

var (
	redis84 dialect = func(c redlock.Claim) []any { return []any{"delex", c.Key, "ifeq", c.Token} }
	valkey9 dialect = func(c redlock.Claim) []any { return []any{"delifeq", c.Key, c.Token} }
)

type node struct {
	*server.Server
	next    redlock.Node
	send    func(context.Context, ...redis.Cmder)
	known   atomic.Bool             // the server has answered or refused INFO
	dialect atomic.Pointer[dialect] // nil: scripts
}

// sendAndIdentify sends commands, with INFO ahead of a SET if the dialect is unknown and the caller sends no INFO. It
// learns the dialect from any INFO. A server that answers the SET and refuses INFO gets scripts.
func (n *node) sendAndIdentify(ctx context.Context, commands ...redis.Cmder) {
	last := commands[len(commands)-1]
	if len(commands) == 1 && !n.known.Load() && last.Name() == "set" {
		commands = append([]redis.Cmder{server.Info(ctx)}, last)
	}
	n.send(ctx, commands...)
	info, ok := commands[0].(*redis.StringCmd)
	if !ok || info.Args()[0] != "info" {
		if unknown(last.Err()) && strings.HasPrefix(last.Name(), "eval") {
			n.known.Store(false) // another server may have replaced the known one
		}
		return
	}
	var refused redis.Error
	text, err := info.Result()
	switch answered := last.Err() == nil || errors.Is(last.Err(), redis.Nil); {
	case err == nil:
		n.dialect.Store(dialectOf(text))
		n.known.Store(true)
	case errors.As(err, &refused) && answered:
		n.known.Store(true)
	}
}

// dialectOf reads INFO server; nil means scripts. Other products report a Redis version: one that reports 8.4 and lacks
// its commands gets scripts after its first refusal.
func dialectOf(info string) *dialect {
	switch name := server.InfoField(info, "server_name"); {
	// Valkey's redis_version is the version that it is compatible with.
	case name == "valkey" && atLeast(server.InfoField(info, "valkey_version"), 9, 0):
		return &valkey9
	case (name == "" || name == "redis") && atLeast(server.InfoField(info, "redis_version"), 8, 4):
		return &redis84
	default:
		return nil
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

func (n *node) SetIfAbsent(ctx context.Context, c redlock.Claim) (absent bool, holder string, err error) {
	return n.next.SetIfAbsent(ctx, c)
}

func (n *node) DeleteIfEqual(ctx context.Context, c redlock.Claim) (bool, error) {
	if d := n.dialect.Load(); c.Token != "" && d != nil {
		if done, err := n.do(ctx, (*d)(c)...); !unknown(err) {
			return done, err
		}
	}
	return n.next.DeleteIfEqual(ctx, c)
}

func (n *node) ExpireIfEqual(ctx context.Context, c redlock.Claim) (bool, error) {
	if c.Token != "" && n.dialect.Load() != nil {
		if done, err := n.do(ctx, "set", c.Key, c.Token, "ifeq", c.Token, "px", c.TTL.Milliseconds()); !unknown(err) {
			return done, err
		}
	}
	return n.next.ExpireIfEqual(ctx, c)
}

// do sends a command whose reply is a count of keys, OK or nil. After a refusal the node uses scripts: the server has
// been replaced, or its user may not use the command.
func (n *node) do(ctx context.Context, words ...any) (bool, error) {
	cmd := redis.NewCmd(ctx, words...)
	n.Send(ctx, cmd)
	switch answer, err := cmd.Result(); answer := answer.(type) {
	case int64:
		return answer > 0, err
	case string:
		return answer == "OK", err
	default:
		if unknown(err) {
			n.dialect.Store(nil)
		}
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		return false, err
	}
}

// unknown reports whether a server does not know or permit a command.
func unknown(err error) bool {
	for _, prefix := range []string{"unknown command", "syntax error", "NOPERM"} {
		if err != nil && redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}
