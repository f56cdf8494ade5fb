package checker

import (
	"fmt"

	"example.org/lockproof/harness/history"
)

// unmodelled are the commands of which it is not known what they did to keys: whose these were
// then, nobody can say.
type unmodelled struct {
	open  map[sentCommand]doubt // those that have no answer yet
	named map[string]doubt      // by each word that may be a key, the first that was carried out; "": of any key
}

// sentCommand is a command on a link.
type sentCommand struct {
	link   history.Link
	serial int64
}

// doubt is such a command.
type doubt struct {
	event int
	what  string
	words []string
}

// follow takes a command on a link, or its answer.
func (u *unmodelled) follow(i int, e *history.Event) {
	c := e.Command
	link, isLink := e.Link()
	if c == nil || !isLink || link.To == history.StoreName {
		return
	}
	words := c.Others
	if c.MayChange() {
		words = append([]string{c.Key}, words...)
	}
	sent := sentCommand{link, c.Serial}
	if e.Type == history.TypeReply {
		delete(u.open, sent)
	}
	if len(words) == 0 {
		return
	}
	d := doubt{i, fmt.Sprintf("%s sent %s %s at %s", link.From, link.To, c.Name, formatTime(e.Time)), words}
	switch {
	case e.Type == history.TypeReply:
		if !c.Failed() {
			u.add(d)
		}
	case c.Name != "EVALSHA": // what a script does that nobody has shown comes out with its answer
		u.open[sent] = d
	}
}

func (u *unmodelled) add(d doubt) {
	for _, word := range d.words {
		if first, known := u.named[word]; !known || d.event < first.event {
			u.named[word] = d
		}
	}
}

// end takes those for carried out that have no answer.
func (u *unmodelled) end() {
	for _, d := range u.open {
		u.add(d)
	}
}

// of tells of the first that may have changed a lock's key; "": none may.
func (u *unmodelled) of(keys []*keyed, names *keyNames) string {
	for _, k := range keys {
		for _, word := range []string{k.name, names.onServer(k.name), ""} {
			if d, some := u.named[word]; some {
				return fmt.Sprintf("%s, and what that does to %q is not known", d.what, k.name)
			}
		}
	}
	return ""
}
