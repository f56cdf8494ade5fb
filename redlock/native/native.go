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

// Commands is a decorator.
func Commands(servers []*server.Server, nodes []redlock.Node) error {
	for i, s := range servers {
		n := &node{Server: s, next: nodes[i], send: s.Send}
		s.Send = n.listen
		nodes[i] = n
	}
	return nil
}

// dialect is the commands in which a server compares and acts in one step.
type dialect int32

const (
	scripts dialect = iota // every server that allows them
	redis84
	valkey9
)

type node struct {
	*server.Server
	next    redlock.Node
	send    func(context.Context, ...redis.Cmder)
	known   atomic.Bool  // the server has said what it is, or that it won't
	dialect atomic.Int32 // a dialect
}

// listen sends commands, with INFO ahead of a SET if the dialect is not known and nobody else asks; and learns from
// INFO, whoever asked. A server that answers the SET and refuses INFO gets scripts.
func (n *node) listen(ctx context.Context, commands ...redis.Cmder) {
	last := commands[len(commands)-1]
	if len(commands) == 1 && !n.known.Load() && last.Name() == "set" {
		commands = append([]redis.Cmder{server.Info(ctx)}, last)
	}
	n.send(ctx, commands...)
	info, ok := commands[0].(*redis.StringCmd)
	if !ok || info.Args()[0] != "info" {
		if unknown(last.Err()) && strings.HasPrefix(last.Name(), "eval") {
			n.known.Store(false) // it may be the successor of the one that we know
		}
		return
	}
	var refused redis.Error
	text, err := info.Result()
	switch answered := last.Err() == nil || errors.Is(last.Err(), redis.Nil); {
	case err == nil:
		n.dialect.Store(int32(dialectOf(text)))
		n.known.Store(true)
	case errors.As(err, &refused) && answered:
		n.known.Store(true)
	}
}

// dialectOf reads INFO server. Other products say that they are a Redis of some version: one that says 8.4 and lacks
// its commands is sent scripts once it has refused one.
func dialectOf(info string) dialect {
	switch name := server.InfoField(info, "server_name"); {
	// Its redis_version is one that it is compatible with.
	case name == "valkey" && atLeast(server.InfoField(info, "valkey_version"), 9, 0):
		return valkey9
	case (name == "" || name == "redis") && atLeast(server.InfoField(info, "redis_version"), 8, 4):
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

func (n *node) SetIfAbsent(ctx context.Context, c redlock.Claim) (absent bool, holder string, err error) {
	return n.next.SetIfAbsent(ctx, c)
}

func (n *node) DeleteIfEqual(ctx context.Context, c redlock.Claim) (bool, error) {
	switch {
	case c.Token == "":
	case dialect(n.dialect.Load()) == redis84:
		if done, err := n.do(ctx, "delex", c.Key, "ifeq", c.Token); !unknown(err) {
			return done, err
		}
	case dialect(n.dialect.Load()) == valkey9:
		if done, err := n.do(ctx, "delifeq", c.Key, c.Token); !unknown(err) {
			return done, err
		}
	}
	return n.next.DeleteIfEqual(ctx, c)
}

func (n *node) ExpireIfEqual(ctx context.Context, c redlock.Claim) (bool, error) {
	if c.Token != "" && dialect(n.dialect.Load()) != scripts {
		if done, err := n.do(ctx, "set", c.Key, c.Token, "ifeq", c.Token, "px", c.TTL.Milliseconds()); !unknown(err) {
			return done, err
		}
	}
	return n.next.ExpireIfEqual(ctx, c)
}

// do carries out a command, whose answer is a count of keys, OK or nil. One that the server refuses because of what
// it is was the last: it has been replaced, or its user may not use it.
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
			n.dialect.Store(int32(scripts))
		}
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		return false, err
	}
}

// unknown reports whether a server refused a command because of what it is.
func unknown(err error) bool {
	for _, prefix := range []string{"unknown command", "syntax error", "NOPERM"} {
		if err != nil && redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}
