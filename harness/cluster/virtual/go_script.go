package virtual

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster/script"
	locks "example.org/lockproof/redlock/server"
)

// goScript is a script that runs in Go. miniredis makes a Lua state, with all its libraries, for each call: half the
// processor time of a search. A test compares each with Lua.
type goScript struct {
	text       string
	keys, args int // number of each
	do         func(d *data, keys, args []string) (reply any)
}

// goScripts are the most frequent scripts of the reference, the lock on a single node, and the store.
var goScripts = []goScript{
	{locks.DeleteScript, 1, 1, deleteOwn},
	{locks.ExpireScript, 1, 2, expireOwn},
	{client.FencedReadScript, 2, 1, fencedRead},
	{client.FencedWriteScript, 2, 2, fencedWrite},
	{client.CompareWriteScript, 1, 2, writeIfBase},
}

// goScriptsByCommand maps "EVAL text" and "EVALSHA digest" to goScripts.
var goScriptsByCommand = func() map[string]goScript {
	all := map[string]goScript{}
	for _, n := range goScripts {
		all["EVAL "+n.text], all["EVALSHA "+script.Digest(n.text)] = n, n
	}
	return all
}()

// runGoScript runs a call of a goScript. It returns false, without any change, if the server may not know the script,
// the call may belong to a transaction, or the script might raise an error.
func (n *Node) runGoScript(k *conn, args []string) bool {
	if k.transacts || n.refusal() != "" || len(args) < 3 {
		return false
	}
	found, known := goScriptsByCommand[strings.ToUpper(args[0])+" "+args[1]]
	if !known || len(args) != 3+found.keys+found.args || args[2] != strconv.Itoa(found.keys) {
		return false
	}
	byDigest := strings.EqualFold(args[0], "EVALSHA")
	if byDigest && n.runInternally(k.peer, "SCRIPT", "EXISTS", args[1]) != "*1\r\n:1\r\n" {
		return false
	}
	d := &data{Miniredis: n.server}
	reply := found.do(d, args[3:3+found.keys], args[3+found.keys:])
	if d.failed {
		return false
	}
	if !byDigest {
		n.runInternally(k.peer, "SCRIPT", "LOAD", found.text)
	}
	writeScriptReply(k.peer, reply)
	return true
}

func writeScriptReply(to *server.Peer, reply any) {
	switch reply := reply.(type) {
	case int:
		to.WriteInt(reply)
	case string:
		to.WriteBulk(reply)
	default:
		to.WriteNull()
	}
}

// data are the keys that a goScript reads and writes. After a failed step it changes no key.
type data struct {
	*miniredis.Miniredis
	failed bool // Lua would raise an error, or read a number in another form
}

// get returns a key's value, or fallback if the key is absent.
func (d *data) get(key, fallback string) string {
	value, err := d.Get(key)
	if errors.Is(err, miniredis.ErrKeyNotFound) {
		return fallback
	}
	d.failed = d.failed || err != nil
	return value
}

func (d *data) set(key, value string) { d.failed = d.Set(key, value) != nil }

// number reads at most 12 digits, which fit Lua's floating point and a time in nanoseconds.
func (d *data) number(s string) int64 {
	i, err := strconv.ParseInt(s, 10, 64)
	d.failed = d.failed || err != nil || len(s) > 12
	return i
}

func (d *data) owns(key, token string) bool {
	return d.Exists(key) && d.get(key, "") == token && !d.failed
}

func deleteOwn(d *data, keys, args []string) any {
	if !d.owns(keys[0], args[0]) {
		return 0
	}
	d.Del(keys[0])
	return 1
}

func expireOwn(d *data, keys, args []string) any {
	if !d.owns(keys[0], args[0]) {
		return 0
	}
	ttl := d.number(args[1])
	if d.failed = d.failed || ttl <= 0; !d.failed {
		d.SetTTL(keys[0], time.Duration(ttl)*time.Millisecond)
	}
	return 1
}

func (d *data) older(token, key string) bool {
	return d.number(token) < d.number(d.get(key, "0")) || d.failed
}

func fencedRead(d *data, keys, args []string) any {
	if d.older(args[0], keys[1]) {
		return nil
	}
	d.set(keys[1], args[0])
	return d.get(keys[0], "")
}

func fencedWrite(d *data, keys, args []string) any {
	if d.older(args[0], keys[1]) {
		return 0
	}
	d.set(keys[1], args[0])
	d.set(keys[0], args[1])
	return 1
}

func writeIfBase(d *data, keys, args []string) any {
	if d.get(keys[0], "") != args[0] || d.failed {
		return 0
	}
	d.set(keys[0], args[1])
	return 1
}
