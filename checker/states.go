package checker

import (
	"cmp"
	"maps"
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
	w := walker{owners: map[spot]string{}, expiry: map[spot]int64{}, clients: map[string]*stand{}, seen: map[uint64]bool{}}
	for i := range events {
		w.take(&events[i])
		w.note(events[i].Time)
	}
	return slices.Sorted(maps.Keys(w.seen))
}

// spot is a key on a node.
type spot struct{ node, key string }

// stand is how it stands with one client.
type stand struct {
	asks  bool
	token string // of what it last tried to take the key with
	until int64  // it believes in its lease until then; 0: it does not
}

// walker follows a history through its states.
type walker struct {
	owners  map[spot]string // the token of each key, on each node
	expiry  map[spot]int64
	clients map[string]*stand
	before  uint64
	seen    map[uint64]bool
	stands  [][2]byte // room for those of the clients
}

func (w *walker) client(name string) *stand {
	if w.clients[name] == nil {
		w.clients[name] = &stand{}
	}
	return w.clients[name]
}

func (w *walker) take(e *history.Event) {
	switch {
	case e.Command != nil:
		w.command(e)
	case e.Type == history.TypeNode:
		maps.DeleteFunc(w.owners, func(p spot, _ string) bool { return p.node == e.Process })
		for key, state := range e.Node.Keys {
			w.owners[spot{e.Process, key}], w.expiry[spot{e.Process, key}] = state.Token, e.Time+state.TTL
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
	}
}

// command follows a command or its reply on a link, c1>n3.
func (w *walker) command(e *history.Event) {
	client, node, _ := strings.Cut(e.Process, ">")
	at := spot{node, e.Command.Key}
	switch {
	case e.Type == history.TypeCommand && e.Command.Effect == history.EffectSet:
		w.client(client).token = e.Command.Token
	case e.Type != history.TypeReply || !e.Command.Done:
	case e.Command.Effect == history.EffectSet:
		w.owners[at], w.expiry[at] = e.Command.Token, e.Time+e.Command.Expiry
	case e.Command.Effect == history.EffectExtend:
		w.expiry[at] = e.Time + e.Command.Expiry
	case e.Command.Effect == history.EffectDelete:
		delete(w.owners, at)
	}
}

// note adds the state at a time, and the step to it.
func (w *walker) note(now int64) {
	w.stands = w.stands[:0]
	for _, c := range w.clients {
		belief := byte(0)
		if c.asks {
			belief = 1
		}
		if c.until > now {
			belief += 2
		}
		own := byte(0)
		for at, token := range w.owners {
			if token == c.token && token != "" && w.expiry[at] > now {
				own++
			}
		}
		w.stands = append(w.stands, [2]byte{belief, own})
	}
	others := byte(0) // keys of earlier attempts, on whichever node
	for at, token := range w.owners {
		if w.expiry[at] > now && !w.present(token) {
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

// present reports whether a token is that of some client's latest attempt.
func (w *walker) present(token string) bool {
	for _, c := range w.clients {
		if c.token == token {
			return true
		}
	}
	return false
}
