package script

import (
	"bufio"
	"bytes"
	"fmt"
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

// put stores a value, or a hash with that field, at a key, with an expiry, and nothing else.
func (s *sandbox) put(key, value string, hash bool, expiry time.Duration) {
	s.FlushAll()
	if hash {
		s.HSet(key, value, "1")
	} else if err := s.Set(key, value); err != nil {
		panic(err) // only for a key of another type
	}
	s.SetTTL(key, expiry)
}

// callOn calls the script on a key with that value and another expiry.
func (s *sandbox) callOn(key, value string, hash bool, call func() string) string {
	s.put(key, value, hash, briefer)
	return call()
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

// The expiries of a key before the script runs are shorter than any lock's.
const (
	brief   = 7 * time.Millisecond
	briefer = 5 * time.Millisecond
)

// The values of other clients' keys.
const (
	another   = "another's"
	athirdOne = "a third one's"
)

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
	first := call()
	if strings.HasPrefix(first, "-") {
		return e, false
	}
	for _, key := range keys {
		if s.Exists(key) && !strings.HasPrefix(key, history.FencePrefix) {
			return s.takeEffect(key, args, first, call), true
		}
	}
	for _, key := range keys {
		for i, own := range args {
			for _, hash := range []bool{false, true} {
				found := s.changeEffect(key, own, hash, call)
				if found.Kind() == "" {
					continue
				}
				if found.idle = first; !found.Plain {
					found.stored = i
				}
				return found, true
			}
		}
		if found := s.changeEffect(key, another, false, call); found.Kind() != "" { // unconditional
			found.idle = first
			return found, true
		}
	}
	return Effect{stored: -1}, true
}

// takeEffect finds the effect of a call that has acquired a free key.
func (s *sandbox) takeEffect(key string, args []string, first string, call func() string) Effect {
	e := Effect{Key: key, Takes: true, Expiry: s.TTL(key), stored: -1}
	value, hash := s.value(key)
	for i, a := range args {
		if a == value {
			e.stored = i
			break
		}
	}
	s.Del(key) // and other keys, such as a counter, stay
	e.yes = reply{first, call() != first}
	e.names = e.stored >= 0 && first == bulk(value)
	s.SetTTL(key, brief)
	again := call()
	e.Extends = s.Exists(key) && s.TTL(key) != brief
	if e.Extends {
		e.yes.varies = e.yes.varies || again != first // it counts, for example
	} else {
		e.idle = again
	}
	s.put(key, another, hash, brief)
	refusal := call()
	now, _ := s.value(key)
	e.Plain = now == value
	e.no = reply{refusal, s.callOn(key, athirdOne, hash, call) != refusal}
	return e
}

// bulk is a string as a reply in RESP.
func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

// changeEffect finds the effect of a call on a key with a value, or a field: extension, removal or none. A call that
// changes the value has none, as the new owner depends on the lock's other calls.
func (s *sandbox) changeEffect(key, own string, hash bool, call func() string) Effect {
	s.put(key, own, hash, brief)
	first := call()
	if strings.HasPrefix(first, "-") {
		return Effect{}
	}
	if value, isHash := s.value(key); s.Exists(key) && !isHash && value != own {
		return Effect{}
	}
	e := Effect{Key: key, Removes: !s.Exists(key), stored: -1}
	if !e.Removes {
		e.Extends, e.Expiry = s.TTL(key) != brief, s.TTL(key)
	}
	if !e.Removes && !e.Extends {
		return Effect{}
	}
	s.put(key, another, hash, brief)
	refusal := call()
	e.Plain = !s.Exists(key) || s.TTL(key) != brief
	e.yes = reply{first, s.callOn(key, own, hash, call) != first}
	e.no = reply{refusal, s.callOn(key, athirdOne, hash, call) != refusal}
	return e
}
