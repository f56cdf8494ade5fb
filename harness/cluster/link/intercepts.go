package link

import (
	"errors"
	"slices"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// intercept is a cluster.Intercept with what is left of it.
type intercept struct {
	cluster.Intercept
	number   int // of all on the link, from 0
	left     int
	affected []time.Time // when the messages set out that it has been done to
}

// Intercept does something to the next commands that match; the function that it
// returns tells to which messages it has been done so far.
func (l *Link) Intercept(i cluster.Intercept) (met func() cluster.Traffic, err error) {
	if i.Command == "" {
		return nil, errors.New("an intercept needs the name of a command, or of what it does")
	}
	i.Command = canonical(i.Command)
	l.mu.Lock()
	defer l.mu.Unlock()
	one := &intercept{Intercept: i, number: l.placed, left: max(i.Times, 1)}
	l.placed++
	l.intercepts = append(l.intercepts, one)
	return func() cluster.Traffic {
		l.mu.Lock()
		defer l.mu.Unlock()
		count := len(one.affected)
		return cluster.Traffic{Messages: count, First: slices.Clone(one.affected[:min(count, cluster.FirstMessages)])}
	}, nil
}

// LetGo passes on what is being held and forgets every intercept.
func (l *Link) LetGo() (held int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.letGo(), nil
}

func (l *Link) letGo() (held int) {
	l.intercepts = nil
	for _, way := range ways(history.Both) {
		l.each(way, func(f *flow) {
			for _, m := range f.queue {
				if m.held {
					m.held, m.due = false, time.Now()
					held++
				}
			}
		})
	}
	return held
}

// match finds what is to be done to a part of an exchange, and counts it off. What was
// placed after the command had set out is not about it.
func (l *Link) match(x *exchange, part history.Part) *intercept {
	for _, i := range l.intercepts {
		named, done := i.Command == canonical(x.command.Name), x.deed != "" && i.Command == x.deed
		if i.left == 0 || i.Part != part || i.number >= x.placed || !named && !done {
			continue
		}
		i.left--
		if done && part == history.PartCommand {
			x.met = i
		}
		return i
	}
	return nil
}

// matchEffect tells what a command that sets out is to do. Of one that names a script
// nobody knows that before the node is known to have it.
func (l *Link) matchEffect(x *exchange) {
	x.placed = l.placed
	c := &x.command
	if c.Name != "EVALSHA" || l.cfg.Scripts.Knows(l.cfg.Node, c.digest) {
		x.deed = c.does(l.owns)
	}
}

// owns says whether a key was last given to the client with that token.
func (l *Link) owns(key, token string) bool {
	own, found := l.own[key]
	return found && own == token
}

// reached counts and records a command as it is handed to the node.
func (l *Link) reached(x *exchange) {
	x.command.resolve(l.cfg.Scripts)
	l.serial++
	x.serial = l.serial
	l.counter(canonical(x.command.Name)).received++
	if x.deed != "" {
		l.counter(x.deed).received++
	}
	l.recorded(x, nil)
}

// replied counts and records an answer as it comes from the node.
func (l *Link) replied(x *exchange, r value) {
	c := &x.command
	c.resolve(l.cfg.Scripts)
	if c.digest != "" && (!r.failed() || r.unknownScript()) {
		l.cfg.Scripts.Answered(l.cfg.Node, c.digest, !r.failed())
	}
	if c.flushes {
		l.cfg.Scripts.Forget(l.cfg.Node)
	}
	if c.Effect == history.EffectDelete && c.digest == "" && r.integer() > 0 && r.integer() <= int64(len(c.others)) {
		c.unmodelled(append([]string{c.Key}, c.others...))
	}
	if c.deed != nil && c.deed.Mute() && !r.failed() {
		c.unmodelled(c.keys)
		c.deed = nil
	}
	l.counter(canonical(c.Name)).answered++
	if r.unknownScript() {
		l.undo(x)
	} else {
		if x.deed == "" { // the node had a script that nobody had seen it get
			if x.deed = c.does(l.owns); x.deed != "" {
				l.counter(x.deed).received++
			}
		}
		if x.deed != "" {
			l.counter(x.deed).answered++
		}
	}
	if c.done(r) {
		l.changed(c)
	}
	l.recorded(x, &r)
}

// undo takes back what was said of a command that the node did not know: the one that
// follows it is meant.
func (l *Link) undo(x *exchange) {
	if x.deed != "" {
		l.counter(x.deed).received--
		x.deed = ""
	}
	if i := x.met; i != nil {
		i.left++
		i.affected = i.affected[:len(i.affected)-1]
	}
}

// changed notes whose a key is, as a node has said.
func (l *Link) changed(c *command) {
	switch c.does(l.owns) {
	case history.Take, history.Extend:
		l.own[c.Key] = c.Token
	case history.Release:
		delete(l.own, c.Key)
	}
}
