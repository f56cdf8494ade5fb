package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
)

// serverKeys learns from commands the servers' names of the keys that callers acquire, the nodes that have them, and
// which keys have an unknown state. A lock may put a prefix before a key, or hash it, and need not declare that. A
// command that a client sends while it acquires only one key belongs to that key.
type serverKeys struct {
	open      map[string][]*operation   // by client: acquires and releases under way
	sent      map[sentCommand]sentFor   // commands without a reply
	contacted map[place]bool            // the servers' keys with a command about them, by node
	nodes     map[string]bool           // the nodes of contacted
	changed   map[string]unknownCommand // by word that may be a key: the first command that may have changed it; "": any
	taken     map[string][]string       // by caller's key: the servers' keys that were set for it
	touched   map[string][]string       // likewise those that an unknown command may have changed
	stray     []string                  // those that were set while their client acquired no key, or several
	released  map[string]string         // by caller's key: a release's command with an unknown effect
	// The result: keys with exactly one name on the servers, which differs from the callers' name.
	onServers, ofCallers map[string]string
}

// sentCommand is a command on a link.
type sentCommand struct {
	link   history.Link
	serial int64
}

// sentFor is a command without a reply yet: the key that its client acquired, if it was only one, and the words that it
// may have changed if no reply comes.
type sentFor struct {
	key string
	unknownCommand
}

// unknownCommand is a command with an unknown effect on some words, which may be keys.
type unknownCommand struct {
	event int
	what  string
	words []string
}

func newServerKeys() serverKeys {
	return serverKeys{open: map[string][]*operation{}, sent: map[sentCommand]sentFor{}, contacted: map[place]bool{},
		nodes: map[string]bool{}, changed: map[string]unknownCommand{}, taken: map[string][]string{},
		touched: map[string][]string{}, released: map[string]string{},
		onServers: map[string]string{}, ofCallers: map[string]string{}}
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

// keys returns the keys that a client is acquiring or releasing, each once.
func (n *serverKeys) keys(client string, op history.Op) (keys []string) {
	for _, o := range n.open[client] {
		if o.op == op {
			keys = include(keys, o.key)
		}
	}
	return keys
}

// command follows a command or a reply on a link.
func (n *serverKeys) command(i int, e *history.Event) {
	c := e.Command
	link, isLink := e.Link()
	if c == nil || !isLink || link.To == history.StoreName {
		return
	}
	sent := sentCommand{link, c.Serial}
	d := unknownCommand{event: i, words: c.Others}
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
			n.recordUnknown(d)
			n.recordReply(link.From, key, c)
		}
		return
	}
	pending := sentFor{unknownCommand: d}
	if c.Name == "EVALSHA" { // only the reply shows the effect of an unknown script
		pending.words = nil
	}
	if c.Key != "" {
		n.contacted[place{link.To, c.Key}], n.nodes[link.To] = true, true
		if keys := n.keys(link.From, history.OpAcquire); len(keys) == 1 {
			pending.key = keys[0]
		}
	}
	n.sent[sent] = pending
}

// recordUnknown keeps the first command that may have changed each word.
func (n *serverKeys) recordUnknown(d unknownCommand) {
	for _, word := range d.words {
		if first, known := n.changed[word]; !known || d.event < first.event {
			n.changed[word] = d
		}
	}
}

// recordReply follows an executed command. key is the one key that its client acquired when it sent the command; "":
// none, or several.
func (n *serverKeys) recordReply(client, key string, c *history.Command) {
	if c.Key == "" {
		return
	}
	if c.MayChange() {
		for _, released := range n.keys(client, history.OpRelease) {
			n.released[released] = fmt.Sprintf("%s released %q with %s of %q, whose effect is unknown", client,
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

// include adds a name unless it is there.
func include(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// end assumes that commands without a reply were executed, and decides which names are known: a key on the servers is a
// caller's if it was set for that one only, and no other was.
func (n *serverKeys) end() {
	for _, pending := range n.sent {
		n.recordUnknown(pending.unknownCommand)
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

// ofCaller returns the callers' name of a key on the servers.
func (n *serverKeys) ofCaller(name string) string { return cmp.Or(n.ofCallers[name], name) }

// onServer returns the servers' name of a caller's key.
func (n *serverKeys) onServer(key string) string { return cmp.Or(n.onServers[key], key) }

// names returns the known or possible names of a caller's key on the servers; none: its own.
func (n *serverKeys) names(key string) []string {
	if names := n.taken[key]; len(names) > 0 {
		return names
	}
	return n.touched[key]
}

// contactedFor reports whether a node received a command about a caller's key.
func (n *serverKeys) contactedFor(key, node string) bool {
	names := n.names(key)
	if len(names) == 0 {
		names = []string{key}
	}
	return slices.ContainsFunc(names, func(name string) bool { return n.contacted[place{node, name}] })
}

// unknownReason explains why the owner of a lock's key is unknown: a command with an unknown effect may have changed
// it, or its name on the servers is unknown; "": owners are known.
func (n *serverKeys) unknownReason(keys []*keyed) string {
	for _, k := range keys {
		for _, word := range []string{k.name, n.onServer(k.name), ""} {
			if d, some := n.changed[word]; some {
				return fmt.Sprintf("%s, whose effect on %q is unknown", d.what, k.name)
			}
		}
	}
	return n.unknownName(keys)
}

// unknownName describes the first key whose name on the servers is unknown; "": none.
func (n *serverKeys) unknownName(keys []*keyed) string {
	others := slices.DeleteFunc(slices.Clone(n.stray), func(name string) bool {
		return n.ofCallers[name] != "" || slices.ContainsFunc(keys, func(k *keyed) bool { return k.name == name })
	})
	for _, k := range keys {
		names := n.names(k.name)
		if len(names) == 0 {
			names = others
		}
		if len(k.ownerships) > 0 || len(names) == 0 {
			continue
		}
		shown := make([]string, min(len(names), shownNames))
		for i := range shown {
			shown[i] = fmt.Sprintf("%q", names[i])
		}
		return fmt.Sprintf("the lock stores %q on the servers as %s, and it is unknown how long that excludes other clients",
			k.name, strings.Join(shown, ", "))
	}
	return ""
}

// shownNames limits the names of a key in a sentence.
const shownNames = 3
