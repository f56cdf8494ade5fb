package link

import (
	"errors"
	"slices"
	"sync"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// intercept is a cluster.Intercept with what is left of it.
type intercept struct {
	cluster.Intercept
	number   int // of all on the link, from 0
	left     int
	letGoes  int64 // how often all had been let go before it
	affected affectedMessages
}

// affectedMessages are the messages that an intercept has been done to.
type affectedMessages struct {
	mu    sync.Mutex
	times []time.Time
}

// add notes one that has set out now.
func (e *affectedMessages) add() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.times = append(e.times, time.Now())
}

// removeLast forgets the last one. There is none if all was let go before the message was queued.
func (e *affectedMessages) removeLast() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.times = e.times[:max(0, len(e.times)-1)]
}

func (e *affectedMessages) read() cluster.Traffic {
	e.mu.Lock()
	defer e.mu.Unlock()
	return cluster.Traffic{Messages: len(e.times), First: slices.Clone(e.times[:min(len(e.times), cluster.FirstMessages)])}
}

// order is what an intercept does to one message; of none, nothing. All may be let go
// between that and when the message is queued: then the order is void.
type order struct {
	of      *intercept
	letGoes int64 // how often all was let go before
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
	one := &intercept{Intercept: i, number: l.placed, left: max(i.Times, 1), letGoes: l.releases.Load()}
	l.placed++
	l.intercepts = append(l.intercepts, one)
	return one.affected.read, nil
}

// LetGo passes on what is being held and forgets every intercept.
func (l *Link) LetGo() (held int, err error) {
	l.mu.Lock()
	l.intercepts = nil
	l.releases.Add(1) // before a flow is looked at: what it gets from now on is not held
	open := l.inOrder()
	l.mu.Unlock()
	for _, c := range open {
		for _, f := range c.flows {
			held += f.letGo()
		}
	}
	return held, nil
}

// match finds what is to be done to a part of an exchange, and counts it off. What was
// placed after the command had set out is not about it.
func (l *Link) match(x *exchange, part cluster.Part) order {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, i := range l.intercepts {
		named, done := i.Command == canonical(x.command.Name), x.deed != "" && i.Command == x.deed
		if i.Part != part || i.number >= x.placed || !named && !done {
			continue
		}
		if i.left--; i.left == 0 {
			l.intercepts = append(l.intercepts[:n:n], l.intercepts[n+1:]...)
		}
		if done && part == cluster.PartCommand {
			x.met = i
		}
		return order{i, l.releases.Load()}
	}
	return order{}
}

// matchEffect tells what a command that sets out is to do. Of one that names a script
// nobody knows that before the node is known to have it.
func (l *Link) matchEffect(x *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x.placed = l.placed
	c := &x.command
	if c.Name != "EVALSHA" || l.cfg.Scripts.knows(l.cfg.Node, c.digest) {
		x.deed = c.does(l.owns)
	}
}

// owns says whether a key was last given to the client with that token. The caller
// holds the lock.
func (l *Link) owns(key, token string) bool {
	own, found := l.own[key]
	return found && own == token
}

// reached counts and records a command as it is handed to the node.
func (l *Link) reached(x *exchange) {
	x.command.resolve(l.cfg.Scripts)
	l.mu.Lock()
	l.serial++
	x.serial = l.serial
	l.counter(canonical(x.command.Name)).received++
	if x.deed != "" {
		l.counter(x.deed).received++
	}
	l.mu.Unlock()
	l.recorded(x, nil)
}

// replied counts and records an answer as it comes from the node.
func (l *Link) replied(x *exchange, r reply) {
	c := &x.command
	c.resolve(l.cfg.Scripts)
	if c.digest != "" && (!r.err || r.unknownScript()) {
		l.cfg.Scripts.answered(l.cfg.Node, c.digest, !r.err)
	}
	if c.flushes {
		l.cfg.Scripts.forget(l.cfg.Node)
	}
	if c.Effect == history.EffectDelete && c.digest == "" && r.integer > 0 && r.integer <= int64(len(c.others)) {
		c.unmodelled(append([]string{c.Key}, c.others...))
	}
	done := c.done(r)
	l.mu.Lock()
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
	if done {
		l.changed(c)
	}
	l.mu.Unlock()
	l.recorded(x, &r)
}

// undo takes back what was said of a command that the node did not know: the one that
// follows it is meant. The caller holds the lock.
func (l *Link) undo(x *exchange) {
	if x.deed != "" {
		l.counter(x.deed).received--
		x.deed = ""
	}
	if x.met == nil {
		return
	}
	x.met.affected.removeLast()
	if x.met.left++; x.met.left == 1 && x.met.letGoes == l.releases.Load() {
		l.intercepts = append(l.intercepts, x.met)
	}
}

// changed notes whose a key is, as a node has said. The caller holds the lock.
func (l *Link) changed(c *command) {
	switch c.does(l.owns) {
	case cluster.Take, cluster.Extend:
		l.own[c.Key] = c.Token
	case cluster.Release:
		delete(l.own, c.Key)
	}
}
