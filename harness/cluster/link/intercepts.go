package link

import (
	"errors"
	"slices"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// intercept is a cluster.Intercept and its progress.
type intercept struct {
	cluster.Intercept
	number   int         // on the link, from 0
	left     int         // commands still to affect
	affected []time.Time // send times of the affected messages
}

// Intercept acts on the next matching commands; met reports the affected messages so far.
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

// LetGo delivers held messages and removes every intercept.
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

// match finds the intercept for a part of an exchange and counts it. An intercept placed after the command was sent
// does not apply.
func (l *Link) match(x *exchange, part history.Part) *intercept {
	for _, i := range l.intercepts {
		byName, byIntent := i.Command == canonical(x.command.Name), x.intent != "" && i.Command == x.intent
		if i.left == 0 || i.Part != part || i.number >= x.placed || !byName && !byIntent {
			continue
		}
		i.left--
		if byIntent && part == history.PartCommand {
			x.met = i
		}
		return i
	}
	return nil
}

// findIntent sets the intent of a command that is being sent. An EVALSHA has one only if the node has the script for
// certain.
func (l *Link) findIntent(x *exchange) {
	x.placed = l.placed
	c := &x.command
	if c.Name != "EVALSHA" || l.cfg.Scripts.Knows(l.cfg.Node, c.digest) {
		x.intent = c.intent(l.owns)
	}
}

// owns reports whether the key's last known token is this one.
func (l *Link) owns(key, token string) bool {
	own, found := l.own[key]
	return found && own == token
}

// reached counts and records a command that reaches the node.
func (l *Link) reached(x *exchange) {
	x.command.resolve(l.cfg.Scripts)
	l.serial++
	x.serial = l.serial
	l.counter(canonical(x.command.Name)).received++
	if x.intent != "" {
		l.counter(x.intent).received++
	}
	l.record(x, nil)
}

// replied counts and records a reply as the node sends it.
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
	if c.script != nil && !r.failed() && c.script.Mute(string(r.data)) {
		c.unmodelled(c.keys)
		c.script = nil
	}
	l.counter(canonical(c.Name)).answered++
	if r.unknownScript() {
		l.undo(x)
	} else {
		if x.intent == "" { // the node had the script after all
			if x.intent = c.intent(l.owns); x.intent != "" {
				l.counter(x.intent).received++
			}
		}
		if x.intent != "" {
			l.counter(x.intent).answered++
		}
	}
	if c.done(r) {
		l.setOwner(c)
	}
	l.record(x, &r)
}

// undo reverts the count and the intercept of a command that failed with NOSCRIPT: they are for the EVAL that follows.
func (l *Link) undo(x *exchange) {
	if x.intent != "" {
		l.counter(x.intent).received--
		x.intent = ""
	}
	if i := x.met; i != nil {
		i.left++
		i.affected = i.affected[:len(i.affected)-1]
	}
}

// setOwner updates a key's last known token after a confirmed command.
func (l *Link) setOwner(c *command) {
	switch c.intent(l.owns) {
	case history.Take, history.Extend:
		l.own[c.Key] = c.Token
	case history.Release:
		delete(l.own, c.Key)
	}
}
