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

// record is what a node has of a key, as a whole: the disk, the replicas and a node that starts anew get the same
// copy, whatever the key's type. when is its expiry on the node's wall clock, in nanoseconds since the run began, and
// counts only if expires is set.
type record struct {
	kind  string // as TYPE says
	value string // of a string; of others the words that make it anew, in RESP
	// expires is false for a key without an expiry.
	expires bool
	when    int64
}

// The kinds of keys that a node keeps.
const (
	kindString = "string"
	kindHash   = "hash"
	kindList   = "list"
	kindSet    = "set"
	kindZSet   = "zset"
)

// makes is the command that makes a key of each kind anew, with the words of its value.
var makes = map[string]string{kindString: "SET", kindHash: "HSET", kindList: "RPUSH", kindSet: "SADD", kindZSet: "ZADD"}

// words are those that follow the key in the command that makes it.
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

// fields are a record's for the stream to a replica.
func (r record) fields() []string {
	expiry := ""
	if r.expires {
		expiry = strconv.FormatInt(r.when, 10)
	}
	return []string{r.kind, r.value, expiry}
}

// recordFields is how many fields a record has.
const recordFields = 3

// readRecord reads what fields wrote.
func readRecord(fields []string) record {
	when, err := strconv.ParseInt(fields[2], 10, 64)
	return record{kind: fields[0], value: fields[1], expires: err == nil, when: when}
}

// record reads a key as miniredis has it; there is false if it is not there.
func (n *Node) record(key string) (r record, there bool) {
	if r.kind, r.value = readValue(n.server, key); r.kind == "" {
		return record{}, false
	}
	if ttl := n.server.TTL(key); ttl != 0 {
		r.expires, r.when = true, n.reading+int64(ttl)
	}
	return r, true
}

// readValue gives a key's kind, "" if it is not there, and its value. Equal values read the same.
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
		panic(fmt.Sprintf("key %q is a %s, which nodes do not keep", key, kind)) // screen refuses what makes one
	}
	return kind, string(encode(words))
}

// show lets miniredis have a key. One whose time has come by a replica's clock is not to be
// seen there, but it stays until the master says otherwise, who may have prolonged it.
func (n *Node) show(key string, r record) {
	n.server.Del(key)
	if r.expires && r.when <= n.reading {
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
		n.server.SetTTL(key, time.Duration(r.when-n.reading))
	}
}

// respLength is the length of a write as an AOF holds it: DEL key, or what makes the key, with the time of its expiry.
func respLength(key string, r *record) int64 {
	if r == nil {
		return int64(len(encode([]string{"DEL", key})))
	}
	words := append([]string{makes[r.kind], key}, r.words()...)
	if !r.expires {
		return int64(len(encode(words)))
	}
	at := strconv.FormatInt(epoch.UnixMilli()+r.when/int64(time.Millisecond), 10)
	if r.kind == kindString {
		return int64(len(encode(append(words, "PXAT", at))))
	}
	return int64(len(encode(words)) + len(encode([]string{"PEXPIREAT", key, at})))
}
