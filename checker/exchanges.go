package checker

import (
	"strings"

	"lockproof/harness/history"
)

// exchange is a command that sets or deletes a key, with its answer. Only few blames need
// it: who asked which node, and what came of it.
type exchange struct {
	client, node string
	effect       history.Effect
	token        string
	key          string
	expiry       int64 // of a SET: the time to live that it asks for; 0: none, or not known
	asked        int64
	answered     int64 // never, if it was not
	command      int   // the event
	reply        int   // the event; -1 without one
	done         bool
	refused      bool   // a SET was answered by no
	holder       string // the token that was there instead, if the answer to a SET says so
}

// exchanges collects them in the order of the commands.
func (b *blamer) exchanges() []exchange {
	b.exchanging.Do(func() { b.fail(b.readExchanges()) })
	return b.exchanged
}

func (b *blamer) readExchanges() error {
	type sent struct {
		link   string
		serial int64
	}
	open := map[sent]int{}
	return b.visit(func(i int, e *history.Event) bool {
		client, node, isLink := strings.Cut(e.Process, ">")
		if !isLink || e.Command == nil || e.Command.Effect != history.EffectSet && e.Command.Effect != history.EffectDelete {
			return true
		}
		id := sent{e.Process, e.Command.Serial}
		if e.Type == history.TypeCommand {
			open[id] = len(b.exchanged)
			b.exchanged = append(b.exchanged, exchange{client: client, node: node, effect: e.Command.Effect, token: e.Command.Token,
				key: e.Command.Key, expiry: e.Command.Expiry, asked: e.Time, answered: never, command: i, reply: -1})
			return true
		}
		if n, asked := open[id]; asked {
			delete(open, id)
			x := &b.exchanged[n]
			x.answered, x.reply, x.done = e.Time, i, e.Command.Done
			x.refused = x.effect == history.EffectSet && !x.done && !strings.HasPrefix(e.Command.Reply, "error")
			if x.refused && e.Command.Reply != "nil" {
				x.holder = e.Command.Reply
			}
		}
		return true
	})
}

// expires is the latest time at which the key of a SET expires that nobody prolongs.
func (x exchange) expires() int64 {
	if x.expiry == 0 {
		return never
	}
	return x.asked + x.expiry + precision
}
