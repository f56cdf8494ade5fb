package script

import (
	"bufio"
	"bytes"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// sandbox is a server in memory that nobody connects to.
type sandbox struct {
	server *miniredis.Miniredis
	calls  int  // of commands, by the script under way
	broken bool // it died of a script, or was stopped in one, with its lock held
}

func newSandbox() *sandbox {
	s := &sandbox{server: NewServer()}
	s.server.Server().SetPreHook(s.count)
	return s
}

// maxCalls is how many commands a lock's script may need.
const maxCalls = 1000

// count stops a script that asks the server over and over, and never ends as time does
// not pass for it.
func (s *sandbox) count(*server.Peer, string, ...string) bool {
	if s.calls++; s.calls > maxCalls {
		panic("the script does not end")
	}
	return false
}

// call carries out a command, and gives the answer in RESP; "" if the server died of it.
func (s *sandbox) call(args []string) string {
	if s.broken {
		return ""
	}
	defer func() {
		if recover() != nil {
			s.broken = true
		}
	}()
	s.calls = 0
	s.server.SetTime(time.Now())
	var reply bytes.Buffer
	peer := server.NewPeer(bufio.NewWriter(&reply))
	s.server.Server().Dispatch(peer, args)
	peer.Flush()
	return reply.String()
}

func (s *sandbox) clear() {
	if !s.broken {
		s.server.FlushAll()
	}
}

func (s *sandbox) has(key string) bool { return !s.broken && s.server.Exists(key) }

// left is a key's time to live, 0 if it has none.
func (s *sandbox) left(key string) time.Duration {
	if s.broken {
		return 0
	}
	return s.server.TTL(key)
}

func (s *sandbox) expire(key string, ttl time.Duration) {
	if !s.broken {
		s.server.SetTTL(key, ttl)
	}
}

// put gives a key a value, or a field of a hash, and a brief time to live.
func (s *sandbox) put(key, value string, hash bool) {
	if s.broken {
		return
	}
	if hash {
		s.server.HSet(key, value, "1")
	} else if err := s.server.Set(key, value); err != nil {
		panic(err) // only for a key that is there and no string
	}
	s.server.SetTTL(key, brief)
}

// value gives a key's value, or the field of a hash that has one.
func (s *sandbox) value(key string) (value string, hash bool) {
	if s.broken {
		return "", false
	}
	if s.server.Type(key) != "hash" {
		value, _ = s.server.Get(key) // of another type it has none
		return value, false
	}
	if fields, err := s.server.HKeys(key); err == nil && len(fields) == 1 {
		value = fields[0]
	}
	return value, true
}
