package virtual

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2"

	"example.org/lockproof/harness/cluster/link"
)

// record is a key's complete state, for any type: the disk, the replicas and a restarted node get the same record.
type record struct {
	kind    string // as TYPE returns it
	value   string // of a string; of other types the words that create it, in RESP
	expires bool
	expiry  int64 // valid if expires: by the node's wall clock, in nanoseconds since the run began
}

// The types of keys that nodes support.
const (
	kindString = "string"
	kindHash   = "hash"
	kindList   = "list"
	kindSet    = "set"
	kindZSet   = "zset"
)

// creators maps each type to the command that creates a key.
var creators = map[string]string{
	kindString: "SET", kindHash: "HSET", kindList: "RPUSH", kindSet: "SADD", kindZSet: "ZADD",
}

// words are the arguments after the key in the command that creates it.
func (r record) words() []string {
	if r.kind == kindString {
		return []string{r.value}
	}
	words, _, err := link.ReadCommand([]byte(r.value))
	if err != nil {
		panic(fmt.Sprintf("a %s kept as %q: %v", r.kind, r.value, err)) // encode wrote it
	}
	return words
}

// fields encodes a record for the stream to a replica.
func (r record) fields() []string {
	expiry := ""
	if r.expires {
		expiry = strconv.FormatInt(r.expiry, 10)
	}
	return []string{r.kind, r.value, expiry}
}

const recordFields = 3

// readRecord decodes fields.
func readRecord(fields []string) record {
	expiry, err := strconv.ParseInt(fields[2], 10, 64)
	return record{kind: fields[0], value: fields[1], expires: err == nil, expiry: expiry}
}

// record reads a key from miniredis.
func (n *Node) record(key string) (r record, exists bool) {
	if r.kind, r.value = readValue(n.server, key); r.kind == "" {
		return record{}, false
	}
	if ttl := n.server.TTL(key); ttl != 0 {
		r.expires, r.expiry = true, n.reading+int64(ttl)
	}
	return r, true
}

// readValue returns a key's type, "" if it is absent, and its value. Equal values have equal encodings.
func readValue(m *miniredis.Miniredis, key string) (kind, value string) {
	if value, err := m.Get(key); err == nil {
		return kindString, value
	}
	var words []string
	switch kind = m.Type(key); kind {
	case "":
		return "", ""
	case kindHash:
		fields, _ := m.HKeys(key) // sorted
		for _, field := range fields {
			words = append(words, field, m.HGet(key, field))
		}
	case kindList:
		words, _ = m.List(key)
	case kindSet:
		words, _ = m.Members(key) // sorted
	case kindZSet:
		scores, _ := m.SortedSet(key)
		for _, member := range slices.Sorted(maps.Keys(scores)) {
			words = append(words, strconv.FormatFloat(scores[member], 'g', -1, 64), member)
		}
	default:
		panic(fmt.Sprintf("key %q is a %s, which nodes do not keep", key, kind)) // screen refuses commands that create one
	}
	return kind, string(encode(words))
}

// show copies a key to miniredis. A key that has expired by a replica's clock is hidden, but stays on the disk until
// the master's DEL: the master may have extended it.
func (n *Node) show(key string, r record) {
	n.server.Del(key)
	if r.expires && r.expiry <= n.reading {
		return
	}
	switch words := r.words(); r.kind {
	case kindString:
		_ = n.server.Set(key, r.value) // it fails only for a key of another type
	case kindHash:
		n.server.HSet(key, words...)
	case kindList:
		_, _ = n.server.Push(key, words...)
	case kindSet:
		_, _ = n.server.SAdd(key, words...)
	case kindZSet:
		for pair := range slices.Chunk(words, 2) {
			score, _ := strconv.ParseFloat(pair[0], 64) // readValue wrote it
			_, _ = n.server.ZAdd(key, score, pair[1])
		}
	}
	if r.expires {
		n.server.SetTTL(key, time.Duration(r.expiry-n.reading))
	}
}

// respLength is the length of a write in an AOF: DEL key, or the command that creates the key, with its expiry.
func respLength(key string, r *record) int64 {
	if r == nil {
		return int64(len(encode([]string{"DEL", key})))
	}
	words := append([]string{creators[r.kind], key}, r.words()...)
	if !r.expires {
		return int64(len(encode(words)))
	}
	at := strconv.FormatInt(epoch.UnixMilli()+r.expiry/int64(time.Millisecond), 10)
	if r.kind == kindString {
		return int64(len(encode(append(words, "PXAT", at))))
	}
	return int64(len(encode(words)) + len(encode([]string{"PEXPIREAT", key, at})))
}
