package checker

import (
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
)

// keyNames learns under which names the servers have the keys that callers acquire: a lock may put a
// prefix before a key, or hash it, and need not say so. What was sent while its client acquired one
// key only was sent for that key.
type keyNames struct {
	acquiring map[string][]string    // by client, the keys of its acquires that are under way
	releasing map[string][]string    // likewise of its releases
	sent      map[sentCommand]string // of commands without an answer, the key that their client acquired
	asked     map[place]bool         // the servers' keys that somebody sent a command about, by node
	nodes     map[string]bool        // those of asked
	taken     map[string][]string    // by caller's key, the servers' keys that were taken for it
	touched   map[string][]string    // likewise those to which something unknown may have happened
	released  map[string]string      // by caller's key, what a release sent of which it is not known what it does
	// The outcome: the names of keys that have another one on the servers, and one only.
	onServers, ofCallers map[string]string
}

func newKeyNames() keyNames {
	return keyNames{acquiring: map[string][]string{}, releasing: map[string][]string{}, released: map[string]string{},
		asked: map[place]bool{}, nodes: map[string]bool{},
		sent: map[sentCommand]string{}, taken: map[string][]string{},
		touched: map[string][]string{}, onServers: map[string]string{}, ofCallers: map[string]string{}}
}

// operation follows a client's acquires and releases.
func (n *keyNames) operation(o *operation, begins bool) {
	if o == nil || o.op != history.OpAcquire && o.op != history.OpRelease {
		return
	}
	all := n.acquiring
	if o.op == history.OpRelease {
		all = n.releasing
	}
	open := all[o.process]
	if begins {
		all[o.process] = append(open, o.key)
	} else if i := slices.Index(open, o.key); i >= 0 {
		all[o.process] = slices.Delete(open, i, i+1)
	}
}

// command follows a command on a link, or its answer.
func (n *keyNames) command(e *history.Event) {
	c := e.Command
	link, isLink := e.Link()
	if c == nil || c.Key == "" || !isLink || link.To == history.StoreName {
		return
	}
	sent := sentCommand{link, c.Serial}
	if e.Type == history.TypeCommand {
		n.asked[place{link.To, c.Key}], n.nodes[link.To] = true, true
		if open := slices.Compact(slices.Sorted(slices.Values(n.acquiring[link.From]))); len(open) == 1 {
			n.sent[sent] = open[0]
		}
		return
	}
	if c.MayChange() && !c.Failed() {
		for _, key := range n.releasing[link.From] {
			n.released[key] = fmt.Sprintf("%s released %q by %s of %q, and what that does is not known",
				link.From, key, c.Name, c.Key)
		}
	}
	key, known := n.sent[sent]
	delete(n.sent, sent)
	switch {
	case !known || c.Failed():
	case c.Effect == history.EffectSet && c.Done:
		n.taken[key] = include(n.taken[key], c.Key)
	case c.MayChange():
		n.touched[key] = include(n.touched[key], c.Key)
	}
}

// include adds a name that is not there yet.
func include(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// end settles which names are known: a key on the servers is a caller's if it was taken for that one
// alone, and no other was.
func (n *keyNames) end() {
	callers := map[string]int{}
	for _, names := range n.taken {
		for _, name := range names {
			callers[name]++
		}
	}
	for key, names := range n.taken {
		if len(names) == 1 && names[0] != key && callers[names[0]] == 1 && n.taken[names[0]] == nil {
			n.onServers[key], n.ofCallers[names[0]] = names[0], key
		}
	}
}

// ofCaller gives the name that callers have for a key on a server.
func (n *keyNames) ofCaller(name string) string {
	if key, other := n.ofCallers[name]; other {
		return key
	}
	return name
}

// onServer gives the name that the servers have for a caller's key.
func (n *keyNames) onServer(key string) string {
	if name, other := n.onServers[key]; other {
		return name
	}
	return key
}

// names gives those that a caller's key has on the servers.
func (n *keyNames) names(key string) []string {
	switch {
	case len(n.taken[key]) > 0:
		return n.taken[key]
	case len(n.touched[key]) > 0:
		return n.touched[key]
	}
	return []string{key}
}

// askedFor reports whether somebody sent a node a command about a caller's key.
func (n *keyNames) askedFor(key, node string) bool {
	return slices.ContainsFunc(n.names(key), func(name string) bool { return n.asked[place{node, name}] })
}

// unclear tells of the first key of which it is not known what keeps it on the servers; "": of none.
func (n *keyNames) unclear(keys []*keyed) string {
	for _, k := range keys {
		names := n.taken[k.name]
		if len(names) == 0 {
			names = n.touched[k.name]
		}
		if len(k.tenures) > 0 || len(names) == 0 {
			continue
		}
		shown := make([]string, min(len(names), shownNames))
		for i := range shown {
			shown[i] = fmt.Sprintf("%q", names[i])
		}
		return fmt.Sprintf("the lock has %q on the servers as %s, and it is not known how long that keeps others out",
			k.name, strings.Join(shown, ", "))
	}
	return ""
}

// shownNames is how many names of a key a sentence has.
const shownNames = 3
