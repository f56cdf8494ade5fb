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

// sandbox is a server in memory that nobody connects to.
type sandbox struct {
	*miniredis.Miniredis
	calls int // of commands, by the script under way
}

func newSandbox() *sandbox {
	s := &sandbox{Miniredis: NewServer()}
	s.Server().SetPreHook(s.count)
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

// call carries out a command, and gives the answer in RESP. It panics if the server dies of it.
func (s *sandbox) call(args []string) string {
	s.calls = 0
	s.SetTime(time.Now())
	var reply bytes.Buffer
	peer := server.NewPeer(bufio.NewWriter(&reply))
	s.Server().Dispatch(peer, args)
	peer.Flush()
	return reply.String()
}

// put gives a key a value, or a field of a hash, and a brief time to live.
func (s *sandbox) put(key, value string, hash bool) {
	if hash {
		s.HSet(key, value, "1")
	} else if err := s.Set(key, value); err != nil {
		panic(err) // only for a key that is there and no string
	}
	s.SetTTL(key, brief)
}

// value gives a key's value, or the field of a hash that has one.
func (s *sandbox) value(key string) (value string, hash bool) {
	if s.Type(key) != "hash" {
		value, _ = s.Get(key) // of another type it has none
		return value, false
	}
	if fields, err := s.HKeys(key); err == nil && len(fields) == 1 {
		value = fields[0]
	}
	return value, true
}

// brief is the time to live that a key has before the script comes to it: no lock's is
// as short.
const brief = 7 * time.Millisecond

// another is the value of a key that is not the caller's.
const another = "another's"

// rehearse tries a call out.
func (r *Scripts) rehearse(body string, keys, args []string) (d Effect, ok bool) {
	if r.stage == nil {
		r.stage = newSandbox()
	}
	s := r.stage
	defer func() {
		// A server that died of a script, or was stopped in one, has its lock held.
		if recover() != nil {
			r.stage, ok = nil, false
		}
	}()
	call := func() string {
		return s.call(append(append([]string{"EVAL", body, strconv.Itoa(len(keys))}, keys...), args...))
	}
	s.FlushAll()
	alone := call()
	if strings.HasPrefix(alone, "-") {
		return d, false
	}
	for _, key := range keys {
		if s.Exists(key) && !strings.HasPrefix(key, history.FencePrefix) {
			return s.taken(key, args, alone, call), true
		}
	}
	for _, key := range keys {
		for i, own := range args {
			for _, hash := range []bool{false, true} {
				found := s.changed(key, own, hash, call)
				if found.Kind() == "" {
					continue
				}
				if !found.Plain {
					found.stored = i
				}
				return found, true
			}
		}
		if found := s.changed(key, another, false, call); found.Kind() != "" { // it asks for nothing
			return found, true
		}
	}
	return Effect{stored: -1}, true
}

// taken tells of a call that has taken a key that was free.
func (s *sandbox) taken(key string, args []string, answer string, call func() string) Effect {
	d := Effect{Key: key, Takes: true, Expiry: s.TTL(key), yes: answer, stored: -1}
	value, hash := s.value(key)
	for i, a := range args {
		if a == value {
			d.stored = i
			break
		}
	}
	s.SetTTL(key, brief)
	call()
	d.Extends = s.Exists(key) && s.TTL(key) != brief
	s.FlushAll()
	s.put(key, another, hash)
	d.no = call()
	now, _ := s.value(key)
	d.Plain = now == value
	return d
}

// changed tells whether a call extends or removes a key that has a value, or a field. Whose a key is that has another
// value afterwards, the lock's other calls decide.
func (s *sandbox) changed(key, own string, hash bool, call func() string) Effect {
	s.FlushAll()
	s.put(key, own, hash)
	answer := call()
	if strings.HasPrefix(answer, "-") {
		return Effect{}
	}
	if value, isHash := s.value(key); s.Exists(key) && !isHash && value != own {
		return Effect{}
	}
	d := Effect{Key: key, yes: answer, Removes: !s.Exists(key), stored: -1}
	if !d.Removes {
		d.Extends, d.Expiry = s.TTL(key) != brief, s.TTL(key)
	}
	if !d.Removes && !d.Extends {
		return Effect{}
	}
	s.FlushAll()
	s.put(key, another, hash)
	d.no = call()
	d.Plain = !s.Exists(key) || s.TTL(key) != brief
	return d
}
