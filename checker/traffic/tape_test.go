package traffic

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// script is a SET by a script, which may find its own token.
func (t *tape) script(at int64, link, token, reply string, done bool) *tape {
	c := set(token)
	c.Name = "EVALSHA"
	return t.sent(at, link, c)(at, reply, done)
}

// showed is a GET at a node.
func (t *tape) showed(at int64, link, token string) *tape {
	reply := t.sent(at, link, history.Command{Name: "GET", Effect: history.EffectRead})
	if token == "" {
		return reply(at, "nil", false)
	}
	return reply(at, token, true)
}

const ms = int64(1_000_000)

// tape builds a history of one key on three nodes.
type tape struct {
	events  []history.Event
	serials map[string]int64
}

func newTape(change ...func(*history.Header)) *tape {
	h := history.Header{
		Version: history.Version, Lock: "redlock", TTL: 1000 * ms, Nodes: []string{"n1", "n2", "n3"},
		Clients: []string{"c1", "c2"}, Quorum: 2,
	}
	for _, c := range change {
		c(&h)
	}
	t := &tape{serials: map[string]int64{}}
	t.add(history.Event{Process: "harness", Type: history.TypeHeader, Header: &h})
	for _, n := range h.Nodes {
		t.look(0, n, "", 0)
	}
	return t
}

func (t *tape) add(e history.Event) *tape {
	t.events = append(t.events, e)
	return t
}

// sent adds a command that reached a node. It returns a function that adds the reply.
func (t *tape) sent(at int64, link string, c history.Command) func(at int64, reply string, done bool) *tape {
	t.serials[link]++
	if c.Serial = t.serials[link]; c.Key == "" && c.Name != "FLUSHALL" {
		c.Key = "k"
	}
	t.add(history.Event{Time: at * ms, Process: link, Type: history.TypeCommand, Key: c.Key, Command: &c})
	return func(at int64, reply string, done bool) *tape {
		answered := c
		answered.Reply, answered.Done = reply, done
		return t.add(history.Event{Time: at * ms, Process: link, Type: history.TypeReply, Key: "k", Command: &answered})
	}
}

// ran is a command that a node carried out at once.
func (t *tape) ran(at int64, link string, c history.Command, reply string) *tape {
	return t.sent(at, link, c)(at, reply, true)
}

func set(token string) history.Command {
	return history.Command{Name: "SET", Token: token, Expiry: 1000 * ms, Effect: history.EffectSet}
}

func del(token string) history.Command {
	return history.Command{Name: "EVALSHA", Token: token, Effect: history.EffectDelete}
}

func prolong(token string) history.Command {
	return history.Command{Name: "EVALSHA", Token: token, Expiry: 1000 * ms, Effect: history.EffectExtend}
}

// took, freed and the like are commands that a node answered at once.
func (t *tape) took(at int64, link, token string) *tape {
	return t.ran(at, link, set(token), "OK")
}

func (t *tape) met(at int64, link, token, other string) *tape {
	return t.sent(at, link, set(token))(at, other, false)
}

func (t *tape) freed(at int64, link, token string) *tape {
	return t.ran(at, link, del(token), "1")
}

func (t *tape) kept(at int64, link, token string) *tape {
	return t.sent(at, link, del(token))(at, "0", false)
}

func (t *tape) extended(at int64, link, token string, done bool) *tape {
	reply := "0"
	if done {
		reply = "1"
	}
	return t.sent(at, link, prolong(token))(at, reply, done)
}

// deletedOne is a delete of two keys, one of which existed.
func (t *tape) deletedOne(at int64, link string) *tape {
	t.sent(at, link, history.Command{Name: "DEL", Effect: history.EffectDelete, Others: []string{"x"}})
	answered := *t.events[len(t.events)-1].Command
	answered.Effect, answered.Reply, answered.Done = "", "1", true
	return t.add(history.Event{Time: at * ms, Process: link, Type: history.TypeReply, Key: "k", Command: &answered})
}

func (t *tape) look(at int64, node, token string, ttl int64) *tape {
	n := &history.Node{Up: true}
	if token != "" {
		n.Keys = map[string]history.KeyState{"k": {Token: token, TTL: ttl * ms}}
	}
	return t.add(history.Event{Time: at * ms, Process: node, Type: history.TypeNode, Node: n})
}

func (t *tape) fault(at int64, class history.Class, targets ...string) *tape {
	return t.add(history.Event{Time: at * ms, Process: "nemesis", Type: history.TypeFault,
		Fault: &history.Fault{ID: 1, Class: class, Phase: history.PhaseInstant, Targets: targets, Effective: true}})
}

func (t *tape) clock(at int64, node string, reading int64, rate float64) *tape {
	return t.add(history.Event{Time: at * ms, Process: node, Type: history.TypeClock,
		Clock: &history.Clock{Reading: reading * ms, Rate: rate, Wall: true}})
}

func (t *tape) said(at int64, client string, typ history.Type, op history.Op, token, reason string) *tape {
	return t.add(history.Event{Time: at * ms, Process: client, Type: typ, Op: op, ID: 1, Key: "k", Token: token,
		Reason: reason})
}

func (t *tape) report() *Report {
	r := NewReader()
	for i := range t.events {
		r.Add(i, &t.events[i])
	}
	return r.Report()
}

// slotMoves is the end of a slot's move, with its keys or without.
func (t *tape) slotMoves(at int64, from, to string) *tape {
	t.fault(at, history.SlotMoves, from)
	f := t.events[len(t.events)-1].Fault
	f.Phase, f.Asked = history.PhaseEnd, history.Asked{To: to}
	return t
}

// since sets an earlier possible beginning of the last fault.
func (t *tape) since(at int64) *tape {
	t.events[len(t.events)-1].Fault.Since = at * ms
	return t
}

// lateExpiry is an extension by a script that was unknown when it was sent: only the reply shows its expiry.
func (t *tape) lateExpiry(at int64, link, token string) *tape {
	t.extended(at, link, token, true)
	command, reply := t.events[len(t.events)-2].Command, t.events[len(t.events)-1].Command
	command.Expiry, reply.Expiry = 0, 1000*ms
	return t
}

// requireFinding judges a tape with one finding about a part, of the operation by; about "": with none.
func requireFinding(t *testing.T, judged *tape, about About, by string) *Report {
	t.Helper()
	report := judged.report()
	if about == "" {
		assert.Empty(t, report.Findings)
		return report
	}
	require.Len(t, report.Findings, 1)
	assert.Equal(t, about, report.Findings[0].About)
	assert.Contains(t, report.Findings[0].What, by)
	return report
}
