package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
)

// serverKeys learns from commands under which names the servers have the keys that callers acquire, on which nodes,
// and of which it is not known what became of them. A lock may put a prefix before a key, or hash it, and need not say
// so. What was sent while its client acquired one key only was sent for that key.
type serverKeys struct {
	open     map[string][]*operation // by client, its acquires and releases that are under way
	sent     map[sentCommand]sentFor // commands without an answer
	asked    map[place]bool          // the servers' keys that somebody sent a command about, by node
	nodes    map[string]bool         // those of asked
	changed  map[string]doubt        // by each word that may be a key, the first command that may have changed it; "": any
	taken    map[string][]string     // by caller's key, the servers' keys that were taken for it
	touched  map[string][]string     // likewise those to which something unknown may have happened
	stray    []string                // those that were taken while their client acquired no key, or several
	released map[string]string       // by caller's key, what a release sent of which it is not known what it does
	// The outcome: the names of keys that have another one on the servers, and one only.
	onServers, ofCallers map[string]string
}

// sentCommand is a command on a link.
type sentCommand struct {
	link   history.Link
	serial int64
}

// sentFor is a command that has no answer yet: the key that its client acquired, if it was one, and the words that it
// may have changed, if nobody answers it.
type sentFor struct {
	key string
	doubt
}

// doubt is a command of which it is not known what it did to some words, which may be keys.
type doubt struct {
	event int
	what  string
	words []string
}

func newServerKeys() serverKeys {
	return serverKeys{open: map[string][]*operation{}, sent: map[sentCommand]sentFor{}, asked: map[place]bool{},
		nodes: map[string]bool{}, changed: map[string]doubt{}, taken: map[string][]string{}, touched: map[string][]string{},
		released: map[string]string{}, onServers: map[string]string{}, ofCallers: map[string]string{}}
}

// operation follows a client's acquires and releases.
func (n *serverKeys) operation(o *operation, begins bool) {
	switch {
	case o == nil || o.op != history.OpAcquire && o.op != history.OpRelease:
	case begins:
		n.open[o.process] = append(n.open[o.process], o)
	default:
		n.open[o.process] = slices.DeleteFunc(n.open[o.process], func(other *operation) bool { return other == o })
	}
}

// keys gives those that a client acquires or releases now, each once.
func (n *serverKeys) keys(client string, op history.Op) (keys []string) {
	for _, o := range n.open[client] {
		if o.op == op {
			keys = include(keys, o.key)
		}
	}
	return keys
}

// command follows a command on a link, or its answer.
func (n *serverKeys) command(i int, e *history.Event) {
	c := e.Command
	link, isLink := e.Link()
	if c == nil || !isLink || link.To == history.StoreName {
		return
	}
	sent := sentCommand{link, c.Serial}
	d := doubt{event: i, words: c.Others}
	if c.MayChange() {
		d.words = append([]string{c.Key}, c.Others...)
	}
	if len(d.words) > 0 {
		d.what = fmt.Sprintf("%s sent %s %s at %s", link.From, link.To, c.Name, formatTime(e.Time))
	}
	if e.Type == history.TypeReply {
		key := n.sent[sent].key
		delete(n.sent, sent)
		if !c.Failed() {
			n.doubted(d)
			n.answered(link.From, key, c)
		}
		return
	}
	of := sentFor{doubt: d}
	if c.Name == "EVALSHA" { // what a script does that nobody has shown comes out with its answer
		of.words = nil
	}
	if c.Key != "" {
		n.asked[place{link.To, c.Key}], n.nodes[link.To] = true, true
		if keys := n.keys(link.From, history.OpAcquire); len(keys) == 1 {
			of.key = keys[0]
		}
	}
	n.sent[sent] = of
}

// doubted notes what a command may have changed that was carried out.
func (n *serverKeys) doubted(d doubt) {
	for _, word := range d.words {
		if first, known := n.changed[word]; !known || d.event < first.event {
			n.changed[word] = d
		}
	}
}

// answered follows a command that was carried out, of a client that acquired a key as it sent it; "": none, or several.
func (n *serverKeys) answered(client, key string, c *history.Command) {
	if c.Key == "" {
		return
	}
	if c.MayChange() {
		for _, released := range n.keys(client, history.OpRelease) {
			n.released[released] = fmt.Sprintf("%s released %q by %s of %q, and what that does is not known", client,
				released, c.Name, c.Key)
		}
	}
	switch taken := c.Effect == history.EffectSet && c.Done; {
	case key == "" && taken:
		n.stray = include(n.stray, c.Key)
	case key == "":
	case taken:
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

// end takes commands without an answer for carried out, and settles which names are known: a key on the servers is a
// caller's if it was taken for that one alone, and no other was.
func (n *serverKeys) end() {
	for _, of := range n.sent {
		n.doubted(of.doubt)
	}
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
func (n *serverKeys) ofCaller(name string) string { return cmp.Or(n.ofCallers[name], name) }

// onServer gives the name that the servers have for a caller's key.
func (n *serverKeys) onServer(key string) string { return cmp.Or(n.onServers[key], key) }

// names gives those that a caller's key has on the servers, or may have; none: its own.
func (n *serverKeys) names(key string) []string {
	if names := n.taken[key]; len(names) > 0 {
		return names
	}
	return n.touched[key]
}

// askedFor reports whether somebody sent a node a command about a caller's key.
func (n *serverKeys) askedFor(key, node string) bool {
	names := n.names(key)
	if len(names) == 0 {
		names = []string{key}
	}
	return slices.ContainsFunc(names, func(name string) bool { return n.asked[place{node, name}] })
}

// doubt tells why it is not known whose a lock's key was: of the first command that may have changed it, and of which
// it is not known how, or of the names that it may have; "": it is known.
func (n *serverKeys) doubt(keys []*keyed) string {
	for _, k := range keys {
		for _, word := range []string{k.name, n.onServer(k.name), ""} {
			if d, some := n.changed[word]; some {
				return fmt.Sprintf("%s, and what that does to %q is not known", d.what, k.name)
			}
		}
	}
	return n.unclear(keys)
}

// unclear tells of the first key of which it is not known what keeps it on the servers; "": of none.
func (n *serverKeys) unclear(keys []*keyed) string {
	others := slices.DeleteFunc(slices.Clone(n.stray), func(name string) bool {
		return n.ofCallers[name] != "" || slices.ContainsFunc(keys, func(k *keyed) bool { return k.name == name })
	})
	for _, k := range keys {
		names := n.names(k.name)
		if len(names) == 0 {
			names = others
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
