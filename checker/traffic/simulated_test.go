package traffic

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"example.org/lockproof/harness/history"
)

// act is a command of a simulated client: it reaches the server at call, is executed at point, and answered at ret.
type act struct {
	call, point, ret int64
	link             string
	command          history.Command
	dropped          bool // the reply is lost
	reply            string
	done             bool
}

// simulate draws commands of three clients and lets one server execute them.
func simulate(t *rapid.T, n int) []*act {
	var acts []*act
	free := map[string]int64{} // when a client may send again
	at := int64(1)
	for range n {
		at += rapid.Int64Range(0, 40).Draw(t, "pause") * ms
		client := rapid.SampledFrom([]string{"c1", "c2", "c3"}).Draw(t, "client")
		a := &act{call: max(at, free[client]), link: client + ">n1", dropped: rapid.IntRange(0, 100).Draw(t, "dropped") == 0}
		a.point = a.call + rapid.Int64Range(0, 9).Draw(t, "wait")*ms
		a.ret = a.point + rapid.Int64Range(0, 9).Draw(t, "back")*ms
		free[client] = a.ret + 1
		token := client
		switch rapid.IntRange(0, 3).Draw(t, "what") {
		case 0, 1:
			a.command = set(token)
		case 2:
			a.command = del(token)
		case 3:
			a.command = prolong(token)
		}
		a.command.Expiry = min(a.command.Expiry, 100*ms)
		acts = append(acts, a)
	}
	execute(acts)
	return acts
}

// execute is the server.
func execute(acts []*act) {
	inOrder := slices.SortedStableFunc(slices.Values(acts), func(a, b *act) int { return cmp.Compare(a.point, b.point) })
	owner, expires := "", int64(0)
	for _, a := range inOrder {
		if owner != "" && expires <= a.point {
			owner = ""
		}
		c := &a.command
		mine := owner == c.Token
		switch {
		case c.Effect == history.EffectSet && owner == "":
			a.reply, a.done, owner, expires = "OK", true, c.Token, a.point+c.Expiry
		case c.Effect == history.EffectSet:
			a.reply = "nil"
		case mine && c.Effect == history.EffectDelete:
			a.reply, a.done, owner = "1", true, ""
		case mine:
			a.reply, a.done, expires = "1", true, a.point+c.Expiry
		default:
			a.reply = "0"
		}
	}
}

// written returns the history of the commands.
func written(acts []*act) []history.Event {
	tape := newTape()
	var events []history.Event
	serials := map[string]int64{}
	for _, a := range acts {
		serials[a.link]++
		command := a.command
		command.Serial, command.Key = serials[a.link], "k"
		answered := command
		answered.Reply, answered.Done = a.reply, a.done
		events = append(events, history.Event{Time: a.call, Process: a.link, Type: history.TypeCommand, Command: &command})
		if !a.dropped {
			events = append(events, history.Event{Time: a.ret, Process: a.link, Type: history.TypeReply, Command: &answered})
		}
	}
	slices.SortStableFunc(events, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
	return append(tape.events, events...)
}

// A server may execute concurrent commands in any order: an order is always found.
func TestSimulatedServer_IsLinearizable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		report := (&tape{events: written(simulate(t, 120))}).report()
		assert.Empty(t, report.Findings)
	})
}

// A history that is judged in pieces has the same verdict as a whole, with or without a forged reply.
func TestPiecesAgreeWithTheWhole(t *testing.T) {
	verdicts := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		acts := simulate(t, 90)
		forged := acts[rapid.IntRange(0, len(acts)-1).Draw(t, "forged")]
		if forged.done = !forged.done; forged.command.Effect == history.EffectSet {
			forged.reply = "nil"
			if forged.done {
				forged.reply = "OK"
			}
		}
		events := written(acts)
		pieces, whole := (&tape{events: events}).report(), linearizableWhole(events)
		if whole == porcupine.Unknown || pieces.Unjudged > 0 {
			return // porcupine gave up
		}
		assert.Equal(t, whole == porcupine.Illegal, pieces.Count > 0, fmt.Sprint(pieces.Findings))
		verdicts[pieces.Count > 0]++
	})
	assert.Positive(t, verdicts[true])
}

// linearizableWhole judges a register's whole history at once.
func linearizableWhole(events []history.Event) porcupine.CheckResult {
	r := NewReader()
	for i := range events {
		r.Add(i, &events[i])
		for _, n := range r.nodes {
			for _, g := range n.keys {
				g.next = len(events) // never cut
			}
		}
	}
	g := r.nodes["n1"].keys["k"]
	return registerModel{clock: &g.node.clock, slack: r.slack, left: &r.searchSteps}.linearizable(g.ops)
}
