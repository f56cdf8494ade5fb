package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/redlock"
)

// Server is a redlock.Node on one Redis server.
type Server struct {
	Index  int // in the list
	Client redis.UniversalClient
	// Send carries out commands in their order and in one write; each keeps its reply or error.
	Send func(ctx context.Context, commands ...redis.Cmder)
}

// Decorator replaces nodes of the list, or how commands are sent. Its nodes embed their Server.
type Decorator func(servers []*Server, nodes []redlock.Node) error

// Nodes makes a node of each client, and decorates them in this order.
func Nodes(clients []redis.UniversalClient, decorators ...Decorator) ([]redlock.Node, error) {
	servers, nodes := make([]*Server, len(clients)), make([]redlock.Node, len(clients))
	for i, client := range clients {
		if c, ok := client.(*redis.Client); client == nil || ok && c == nil {
			return nil, fmt.Errorf("redlock: client %d is nil", i)
		}
		servers[i] = &Server{Index: i, Client: client}
		servers[i].Send = servers[i].send
		nodes[i] = servers[i]
	}
	for _, decorate := range decorators {
		if err := decorate(servers, nodes); err != nil {
			return nil, fmt.Errorf("redlock: %w", err)
		}
	}
	return nodes, nil
}

func (s *Server) send(ctx context.Context, commands ...redis.Cmder) {
	if len(commands) == 1 {
		_ = s.Client.Process(ctx, commands[0]) // the command keeps the error
		return
	}
	pipe := s.Client.Pipeline()
	for _, command := range commands {
		_ = pipe.Process(ctx, command) // queues it
	}
	_, _ = pipe.Exec(ctx)
}

// String is the server's address, if known.
func (s *Server) String() string {
	switch c := s.Client.(type) {
	case *redis.ClusterClient, *redis.Ring:
		return redlock.AnyServer
	case *redis.Client:
		if c.Options().Addr != "FailoverClient" {
			return c.Options().Addr
		}
	}
	return fmt.Sprintf("client %p", s.Client)
}

// SetIfAbsent is SET NX GET PX.
func (s *Server) SetIfAbsent(ctx context.Context, c redlock.Claim) (absent bool, holder string, err error) {
	return s.SetAfter(ctx, c)
}

// SetAfter is SetIfAbsent with commands ahead of the SET in the same write.
func (s *Server) SetAfter(ctx context.Context, c redlock.Claim,
	ahead ...redis.Cmder) (absent bool, holder string, err error) {
	set := redis.NewStringCmd(ctx, "set", c.Key, c.Token, "nx", "get", "px", c.TTL.Milliseconds())
	s.Send(ctx, append(ahead, set)...)
	holder, err = set.Result()
	switch {
	case errors.Is(err, redis.Nil):
		return true, "", nil
	case err != nil && strings.Contains(err.Error(), "syntax error"):
		err = fmt.Errorf("%w (SET with both NX and GET needs Redis 7.0 or later)", err)
	}
	return false, holder, err
}

// DeleteScript and ExpireScript compare and act in one step: between separate GET and DEL commands the key can change
// its owner (redis.io, "Correct implementation with a single instance"). KEYS: the lock. ARGV: the token, and for
// ExpireScript the TTL in milliseconds.
const (
	DeleteScript = `if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("del", KEYS[1])
end
return 0`
	ExpireScript = `if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("pexpire", KEYS[1], ARGV[2])
end
return 0`
)

// script has a SHA-1, by which servers know it.
type script struct{ source, hash any } // strings

func newScript(source string) script { return script{source, redis.NewScript(source).Hash()} }

var deleteIfEqual, expireIfEqual = newScript(DeleteScript), newScript(ExpireScript)

// DeleteIfEqual runs DeleteScript.
func (s *Server) DeleteIfEqual(ctx context.Context, c redlock.Claim) (bool, error) {
	if c.Token == "" {
		return s.do(ctx, "del", c.Key)
	}
	return s.run(ctx, deleteIfEqual, "evalsha", deleteIfEqual.hash, 1, c.Key, c.Token)
}

// ExpireIfEqual runs ExpireScript.
func (s *Server) ExpireIfEqual(ctx context.Context, c redlock.Claim) (bool, error) {
	if c.Token == "" {
		return s.do(ctx, "pexpire", c.Key, c.TTL.Milliseconds())
	}
	return s.run(ctx, expireIfEqual, "evalsha", expireIfEqual.hash, 1, c.Key, c.Token, c.TTL.Milliseconds())
}

// run sends a script in full only to a server that does not have it.
func (s *Server) run(ctx context.Context, script script, words ...any) (bool, error) {
	done, err := s.do(ctx, words...)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		return s.do(ctx, append([]any{"eval", script.source}, words[2:]...)...)
	}
	return done, err
}

// Info is INFO server, which has a server's identity.
func Info(ctx context.Context) *redis.StringCmd { return redis.NewStringCmd(ctx, "info", "server") }

// InfoField is a field of the reply to INFO, "" if it is absent.
func InfoField(info, name string) string {
	for line := range strings.Lines(info) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), ":"); key == name {
			return value
		}
	}
	return ""
}

// do sends a command that returns a number.
func (s *Server) do(ctx context.Context, words ...any) (bool, error) {
	cmd := redis.NewCmd(ctx, words...)
	s.Send(ctx, cmd)
	n, err := cmd.Int64()
	return n > 0, err
}
