package checker

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"lockproof/harness/history"
)

// States are the states that a history went through, and the steps from one to the
// next, each as a number: how many nodes each client owns the key on, by the token of
// its present attempt or by an earlier one, against whether it asks for the lock and
// believes that it has it. Nodes are not told apart, nor are clients: two histories
// with one state came to the same pass. What is not in it is time. The numbers come
// sorted, each once.
func States(events []history.Event) []uint64 {
	w := walker{seen: map[uint64]bool{}}
	for i := range events {
		if e := &events[i]; w.take(e) || e.Time >= w.until {
			w.note(e.Time)
		}
	}
	return slices.Sorted(maps.Keys(w.seen))
}

// owned is a key on a node, and whose it is.
type owned struct {
	node, key string
	token     string // "": nobody's
	expiry    int64
}

// stand is how it stands with one client.
type stand struct {
	name  string
	asks  bool
	token string // of what it last tried to take the key with
	until int64  // it believes in its lease until then; 0: it does not
}

// walker follows a history through its states. There are few clients and few nodes: to
// go through lists of them is faster than to look into maps.
type walker struct {
	keys    []owned
	clients []stand
	before  uint64
	until   int64 // when time alone leads to the next state
	seen    map[uint64]bool
	stands  [][2]byte // room for those of the clients
}

func (w *walker) client(name string) *stand {
	for i := range w.clients {
		if w.clients[i].name == name {
			return &w.clients[i]
		}
	}
	w.clients = append(w.clients, stand{name: name})
	return &w.clients[len(w.clients)-1]
}

func (w *walker) on(node, key string) *owned {
	for i := range w.keys {
		if w.keys[i].node == node && w.keys[i].key == key {
			return &w.keys[i]
		}
	}
	w.keys = append(w.keys, owned{node: node, key: key})
	return &w.keys[len(w.keys)-1]
}

// take follows an event, and says whether it may lead to another state.
func (w *walker) take(e *history.Event) bool {
	switch {
	case e.Command != nil:
		return w.command(e)
	case e.Type == history.TypeNode:
		for i := range w.keys {
			if w.keys[i].node == e.Process {
				w.keys[i].token = ""
			}
		}
		for key, state := range e.Node.Keys {
			k := w.on(e.Process, key)
			k.token, k.expiry = state.Token, e.Time+state.TTL
		}
	case e.Type == history.TypeLost:
		w.client(e.Process).until = 0
	case e.Op == history.OpAcquire, e.Op == history.OpExtend:
		c := w.client(e.Process)
		c.asks = e.Op == history.OpAcquire && e.Type == history.TypeInvoke
		if e.Type == history.TypeOK {
			c.until = e.Time + e.Validity
		}
	case e.Op == history.OpRelease && e.Type == history.TypeInvoke:
		w.client(e.Process).until = 0
	default:
		return false
	}
	return true
}

// command follows a command or its reply on a link, c1>n3, likewise.
func (w *walker) command(e *history.Event) bool {
	client, node, _ := strings.Cut(e.Process, ">")
	switch {
	case e.Type == history.TypeCommand && e.Command.Effect == history.EffectSet:
		w.client(client).token = e.Command.Token
	case e.Type != history.TypeReply || !e.Command.Done:
		return false
	case e.Command.Effect == history.EffectSet:
		k := w.on(node, e.Command.Key)
		k.token, k.expiry = e.Command.Token, e.Time+e.Command.Expiry
	case e.Command.Effect == history.EffectExtend:
		w.on(node, e.Command.Key).expiry = e.Time + e.Command.Expiry
	case e.Command.Effect == history.EffectDelete:
		w.on(node, e.Command.Key).token = ""
	default:
		return false
	}
	return true
}

// note adds the state at a time, and the step to it.
func (w *walker) note(now int64) {
	w.until = math.MaxInt64
	later := func(at int64) bool {
		if at <= now {
			return false
		}
		w.until = min(w.until, at)
		return true
	}
	w.stands = w.stands[:0]
	for i := range w.clients {
		c := &w.clients[i]
		belief := byte(0)
		if c.asks {
			belief = 1
		}
		if later(c.until) {
			belief += 2
		}
		w.stands = append(w.stands, [2]byte{belief, 0})
	}
	others := byte(0) // keys of earlier attempts, on whichever node
	for i := range w.keys {
		k := &w.keys[i]
		if k.token == "" || !later(k.expiry) {
			continue
		}
		present := false
		for j := range w.clients {
			if w.clients[j].token == k.token {
				w.stands[j][1]++
				present = true
			}
		}
		if !present {
			others++
		}
	}
	slices.SortFunc(w.stands, func(a, b [2]byte) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	state := uint64(fnvOffset)
	for _, c := range append(w.stands, [2]byte{0xff, others}) {
		state = (state ^ uint64(c[0])) * fnvPrime
		state = (state ^ uint64(c[1])) * fnvPrime
	}
	if state == w.before {
		return
	}
	w.seen[state], w.seen[state^(w.before*0x9e3779b97f4a7c15)] = true, true
	w.before = state
}

// The hash of a state is FNV-1a, of 64 bits.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)
