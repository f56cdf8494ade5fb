package script

import (
	"bufio"
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"example.org/lockproof/harness/history"
)

// sandbox is a server in memory without clients.
type sandbox struct {
	*miniredis.Miniredis
	calls int // commands of the current script
}

func newSandbox() *sandbox {
	s := &sandbox{Miniredis: NewServer()}
	s.Server().SetPreHook(s.count)
	return s
}

const maxCalls = 1000

// count stops a script that polls the server: the sandbox's clock stands still, so it would never end.
func (s *sandbox) count(*server.Peer, string, ...string) bool {
	if s.calls++; s.calls > maxCalls {
		panic("the script does not end")
	}
	return false
}

// call executes a command and returns the reply in RESP. It panics if the server does.
func (s *sandbox) call(args []string) string {
	s.calls = 0
	s.SetTime(time.Now())
	var reply bytes.Buffer
	peer := server.NewPeer(bufio.NewWriter(&reply))
	s.Server().Dispatch(peer, args)
	peer.Flush()
	return reply.String()
}

// put stores a value, or a hash with that field, at a key, with a brief expiry.
func (s *sandbox) put(key, value string, hash bool) {
	if hash {
		s.HSet(key, value, "1")
	} else if err := s.Set(key, value); err != nil {
		panic(err) // only for a key of another type
	}
	s.SetTTL(key, brief)
}

// value returns a key's value, or the field of a hash with one field.
func (s *sandbox) value(key string) (value string, hash bool) {
	if s.Type(key) != "hash" {
		value, _ = s.Get(key) // "" for other types
		return value, false
	}
	if fields, err := s.HKeys(key); err == nil && len(fields) == 1 {
		value = fields[0]
	}
	return value, true
}

// brief is the expiry of a key before the script runs, shorter than any lock's.
const brief = 7 * time.Millisecond

// another is the value of another client's key.
const another = "another's"

// run finds the effect of a call in the sandbox.
func (r *Scripts) run(body string, keys, args []string) (e Effect, ok bool) {
	if r.sandbox == nil {
		r.sandbox = newSandbox()
	}
	s := r.sandbox
	defer func() {
		// A server that panicked in a script still holds its own mutex.
		if recover() != nil {
			r.sandbox, ok = nil, false
		}
	}()
	call := func() string {
		return s.call(append(append([]string{"EVAL", body, strconv.Itoa(len(keys))}, keys...), args...))
	}
	s.FlushAll()
	reply := call()
	if strings.HasPrefix(reply, "-") {
		return e, false
	}
	for _, key := range keys {
		if s.Exists(key) && !strings.HasPrefix(key, history.FencePrefix) {
			return s.takeEffect(key, args, reply, call), true
		}
	}
	for _, key := range keys {
		for i, own := range args {
			for _, hash := range []bool{false, true} {
				found := s.changeEffect(key, own, hash, call)
				if found.Kind() == "" {
					continue
				}
				if !found.Plain {
					found.stored = i
				}
				return found, true
			}
		}
		if found := s.changeEffect(key, another, false, call); found.Kind() != "" { // unconditional
			return found, true
		}
	}
	return Effect{stored: -1}, true
}

// takeEffect finds the effect of a call that has acquired a free key.
func (s *sandbox) takeEffect(key string, args []string, reply string, call func() string) Effect {
	e := Effect{Key: key, Takes: true, Expiry: s.TTL(key), yes: reply, stored: -1}
	value, hash := s.value(key)
	for i, a := range args {
		if a == value {
			e.stored = i
			break
		}
	}
	s.SetTTL(key, brief)
	call()
	e.Extends = s.Exists(key) && s.TTL(key) != brief
	s.FlushAll()
	s.put(key, another, hash)
	e.no = call()
	now, _ := s.value(key)
	e.Plain = now == value
	return e
}

// changeEffect finds the effect of a call on a key with a value, or a field: extension, removal or none. A call that
// changes the value has none, as the new owner depends on the lock's other calls.
func (s *sandbox) changeEffect(key, own string, hash bool, call func() string) Effect {
	s.FlushAll()
	s.put(key, own, hash)
	reply := call()
	if strings.HasPrefix(reply, "-") {
		return Effect{}
	}
	if value, isHash := s.value(key); s.Exists(key) && !isHash && value != own {
		return Effect{}
	}
	e := Effect{Key: key, yes: reply, Removes: !s.Exists(key), stored: -1}
	if !e.Removes {
		e.Extends, e.Expiry = s.TTL(key) != brief, s.TTL(key)
	}
	if !e.Removes && !e.Extends {
		return Effect{}
	}
	s.FlushAll()
	s.put(key, another, hash)
	e.no = call()
	e.Plain = !s.Exists(key) || s.TTL(key) != brief
	return e
}
