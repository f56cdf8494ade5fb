package traffic

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

const ms = int64(1_000_000)

// tape writes a history of one key on three nodes.
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

// sent adds a command that reached a node, and gives what replies to it.
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
	return t.sent(at, link, set(token))(at, "OK", true)
}
func (t *tape) met(at int64, link, token, other string) *tape {
	return t.sent(at, link, set(token))(at, other, false)
}
func (t *tape) freed(at int64, link, token string) *tape {
	return t.sent(at, link, del(token))(at, "1", true)
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

// deletedOne is a delete of two keys, of which one was there.
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
	return t.add(history.Event{Time: at * ms, Process: client, Type: typ, Op: op, ID: 1, Key: "k", Token: token, Reason: reason})
}

func (t *tape) report() *Report {
	r := NewReader()
	for i := range t.events {
		r.Add(i, &t.events[i])
	}
	return r.Report()
}

func TestRegister(t *testing.T) {
	tests := []struct {
		name  string
		tape  *tape
		about About  // "" where all fits
		by    string // the operation by which it does not
	}{
		{"taken, given back, taken", newTape().took(1, "c1>n1", "a").freed(2, "c1>n1", "a").took(3, "c2>n1", "b"), "", ""},
		{"two take it", newTape().took(1, "c1>n1", "a").took(2, "c2>n1", "b"), Cluster, "a SET of b succeeded"},
		{"two take it, by SET without NX", newTape().took(1, "c1>n1", "a").sent(2, "c2>n1",
			history.Command{Name: "SET", Token: "b", Expiry: 1000 * ms, Effect: history.EffectSet, Unconditional: true})(2, "OK", true), "", ""},
		{"two take it, on two nodes", newTape().took(1, "c1>n1", "a").took(2, "c2>n2", "b"), "", ""},
		{"it ran out", newTape().took(1, "c1>n1", "a").took(1001, "c2>n1", "b"), "", ""},
		{"it is said to have run out too early", newTape().took(1, "c1>n1", "a").took(990, "c2>n1", "b"), Cluster, "a SET of b succeeded"},
		{"it should have run out", newTape().took(1, "c1>n1", "a").met(1010, "c2>n1", "b", "a"), Cluster, "a SET of b met a"},
		{"refused, and nobody has it", newTape().met(1, "c1>n1", "a", "x"), Cluster, "a SET of a met x"},
		{"refused without a word of whom", newTape().took(1, "c1>n1", "a").met(2, "c2>n1", "b", "nil"), "", ""},
		{"refused in another's name", newTape().took(1, "c1>n1", "a").met(2, "c2>n1", "b", "x"), Cluster, "a SET of b met x"},
		{"its own token again, as the node says, which has another's", newTape().took(1, "c1>n1", "a").sent(2, "c2>n1", set("b"))(2, "b", true),
			Cluster, "a SET of b succeeded"},
		{"its own token again", newTape().took(1, "c1>n1", "a").sent(2, "c1>n1", set("a"))(2, "a", true), "", ""},
		{"an error changes nothing", newTape().sent(1, "c1>n1", set("a"))(1, "error: OOM", false).took(2, "c2>n1", "b"), "", ""},
		{"queued says nothing yet", newTape().sent(1, "c1>n1", set("a"))(1, "QUEUED", false).took(2, "c2>n1", "b"), "", ""},

		{"what a command does that we do not know, nobody knows", newTape().sent(1, "c1>n1", history.Command{Name: "INCR"})(1, "1", true).
			extended(1, "c1>n1", "", true).sent(2, "c1>n1", history.Command{Name: "DEL", Effect: history.EffectDelete})(2, "1", true), "", ""},
		{"a command that we do not know may change every key that it names", newTape().took(1, "c1>n1", "a").sent(2, "c2>n1",
			history.Command{Name: "RENAME", Key: "y", Others: []string{"x", "k"}})(2, "OK", true).met(3, "c2>n1", "b", "z"), "", ""},
		{"whose a key is that it left, a look shows", newTape().sent(2, "c2>n1",
			history.Command{Name: "INCR"})(2, "1", true).sent(3, "c2>n1",
			history.Command{Name: "PEXPIRE", Expiry: 500 * ms, Effect: history.EffectExtend})(3, "1", true).look(4, "n1", "1", 499).
			met(5, "c1>n1", "a", "1"), "", ""},
		{"and nobody else's", newTape().sent(2, "c2>n1", history.Command{Name: "INCR"})(2, "1", true).sent(3, "c2>n1",
			history.Command{Name: "PEXPIRE", Expiry: 500 * ms, Effect: history.EffectExtend})(3, "1", true).look(4, "n1", "1", 499).
			met(5, "c1>n1", "a", "2"), Cluster, "a SET of a met 2"},
		{"a delete of two keys of which one was there", newTape().took(1, "c1>n1", "a").deletedOne(2, "c2>n1").met(3, "c2>n1", "b", "a"), "", ""},
		{"none that it does not name", newTape().took(1, "c1>n1", "a").sent(2, "c2>n1",
			history.Command{Name: "RENAME", Key: "y", Others: []string{"x"}})(2, "OK", true).took(3, "c2>n1", "b"), Cluster, "a SET of b succeeded"},
		{"nor if it is refused", newTape().took(1, "c1>n1", "a").sent(2, "c2>n1",
			history.Command{Name: "RENAME", Key: "y", Others: []string{"k"}})(2, "error: ERR", false).took(3, "c2>n1", "b"), Cluster, "a SET of b succeeded"},
		{"a key that comes up later", newTape().sent(2, "c2>n1",
			history.Command{Name: "RENAME", Key: "y", Others: []string{"k"}})(2, "OK", true).met(3, "c1>n1", "a", "z"), "", ""},
		{"one that names no key may change all", newTape().took(1, "c1>n1", "a").sent(2, "c2>n1",
			history.Command{Name: "FLUSHALL"})(2, "OK", true).took(3, "c2>n1", "b"), "", ""},
		{"in a transaction it is carried out later", newTape().sent(1, "c1>n1",
			history.Command{Name: "RENAME", Key: "y", Others: []string{"k"}})(1, "QUEUED", false).took(2, "c1>n1", "a").took(3, "c2>n1", "b"), "", ""},
		{"a script may change its other keys", newTape().took(1, "c1>n1", "a").sent(2, "c2>n1",
			history.Command{Name: "EVAL", Key: "y", Token: "b", Expiry: 1000 * ms, Effect: history.EffectSet, Others: []string{"k"}})(2, "1", true).
			took(3, "c2>n1", "b"), "", ""},
		{"a SET XX that finds nothing", newTape().sent(2, "c2>n1",
			history.Command{Name: "SET", Token: "b", Effect: history.EffectSet, Unconditional: true})(2, "nil", false), "", ""},

		{"a delete that meets another's", newTape().took(1, "c1>n1", "a").kept(2, "c2>n1", "b"), "", ""},
		{"a script deletes another's", newTape().took(1, "c1>n1", "a").freed(2, "c2>n1", "b"), Lock, "a delete of b succeeded"},
		{"a delete that finds nothing", newTape().kept(2, "c2>n1", "b"), "", ""},
		{"a script deletes nothing", newTape().freed(2, "c2>n1", "b"), Cluster, "a delete of b succeeded"},
		{"a script does not delete its own", newTape().took(1, "c1>n1", "a").kept(2, "c1>n1", "a"), Lock, "a delete of a was refused"},
		{"a DEL asks for nothing", newTape().took(1, "c1>n1", "a").sent(2, "c2>n1",
			history.Command{Name: "DEL", Effect: history.EffectDelete})(2, "1", true).took(3, "c2>n1", "b"), "", ""},
		{"a DEL that finds it and says not", newTape().took(1, "c1>n1", "a").sent(2, "c2>n1",
			history.Command{Name: "DEL", Effect: history.EffectDelete})(2, "0", false), Cluster, "a delete was refused"},

		{"extended, and there for longer",
			newTape().took(1, "c1>n1", "a").extended(900, "c1>n1", "a", true).met(1500, "c2>n1", "b", "a"), "", ""},
		{"extended, and gone all the same", newTape().took(1, "c1>n1", "a").extended(900, "c1>n1", "a", true).took(1500, "c2>n1", "b"),
			Cluster, "a SET of b succeeded"},
		{"not extended, and there for longer",
			newTape().took(1, "c1>n1", "a").extended(900, "c1>n1", "x", false).met(1500, "c2>n1", "b", "a"),
			Cluster, "a SET of b met a"},
		{"extended by a script whose text came later", newTape().took(1, "c1>n1", "a").lateExpiry(900, "c1>n1", "a").
			met(1500, "c2>n1", "b", "a"), "", ""},
		{"a script whose text came later extended it, and it is gone", newTape().took(1, "c1>n1", "a").lateExpiry(900, "c1>n1", "a").
			took(1500, "c2>n1", "b"), Cluster, "a SET of b succeeded"},
		{"a script extends what is gone", newTape().extended(900, "c1>n1", "a", true), Cluster, "an extension of a succeeded"},
		{"a script extends another's", newTape().took(1, "c1>n1", "a").extended(2, "c2>n1", "b", true), Lock,
			"an extension of b succeeded"},

		{"a reply that never came: it was carried out",
			newTapeWith(func(t *tape) { t.sent(1, "c1>n1", set("a")) }).met(2, "c2>n1", "b", "a"), "", ""},
		{"a reply that never came: it was not", newTapeWith(func(t *tape) { t.sent(1, "c1>n1", set("a")) }).took(2, "c2>n1", "b"), "", ""},
		{"a reply that never came: it was later", newTapeWith(func(t *tape) { t.sent(1, "c1>n1", set("a")) }).
			took(2, "c2>n1", "b").freed(3, "c2>n1", "b").met(4, "c2>n1", "b", "a"), "", ""},
		{"a reply that never came explains nobody else",
			newTapeWith(func(t *tape) { t.sent(1, "c1>n1", set("a")) }).met(2, "c2>n1", "b", "x"),
			Cluster, "a SET of b met x"},

		{"a restart without a look", newTape().took(1, "c1>n1", "a").fault(2, history.NodeDown, "n1").took(3, "c2>n1", "b"), "", ""},
		{"a restart that kept it, by the look", newTape().took(1, "c1>n1", "a").fault(2, history.NodeDown, "n1").look(3, "n1", "a", 998).
			took(4, "c2>n1", "b"), Cluster, "a SET of b succeeded"},
		{"a restart that forgot it, by the look", newTape().took(1, "c1>n1", "a").fault(2, history.NodeDown, "n1").look(3, "n1", "", 0).
			took(4, "c2>n1", "b"), "", ""},
		{"a server took with it what it had not answered", newTapeWith(func(t *tape) { t.sent(1, "c1>n1", set("a")) }).
			fault(2, history.NodeDown, "n1").look(3, "n1", "", 0).met(4, "c2>n1", "b", "a"), Cluster, "a SET of b met a"},
		{"a server may carry out until it dies what it has not answered", newTapeWith(func(t *tape) { t.sent(1, "c1>n1", set("a")) }).
			took(2, "c2>n1", "b").freed(3, "c2>n1", "b").met(4, "c2>n1", "b", "a").fault(5, history.NodeDown, "n1"), "", ""},
		{"a flush leaves what is under way", newTapeWith(func(t *tape) { t.sent(1, "c1>n1", set("a")) }).
			fault(2, history.NodeForgets, "n1").look(3, "n1", "", 0).met(4, "c2>n1", "b", "a"), "", ""},
		{"a restart that began before it was seen", newTape().took(10, "c1>n1", "a").took(12, "c2>n1", "b").
			fault(14, history.NodeDown, "n1").since(11), "", ""},
		{"a restart that did not", newTape().took(10, "c1>n1", "a").took(12, "c2>n1", "b").fault(14, history.NodeDown, "n1"),
			Cluster, "a SET of b succeeded"},
		{"it vanished", newTape().took(1, "c1>n1", "a").look(3, "n1", "", 0), Cluster, "a look showed no key"},
		{"it is there, with too long to live", newTape().took(1, "c1>n1", "a").look(3, "n1", "a", 2000), Cluster, "a look showed a"},
		{"it is there, with next to nothing to live",
			newTape().took(1, "c1>n1", "a").look(1001, "n1", "a", 0).took(1002, "c2>n1", "b"), "", ""},
		{"it is there, for ever", newTape().took(1, "c1>n1", "a").look(3, "n1", "a", -1), Cluster, "a look showed a"},
		{"a flush", newTape().took(1, "c1>n1", "a").fault(2, history.NodeForgets, "n1").took(3, "c2>n1", "b"), "", ""},
		{"a flush of another node", newTape().took(1, "c1>n1", "a").fault(2, history.NodeForgets, "n2").took(3, "c2>n1", "b"),
			Cluster, "a SET of b succeeded"},
		{"a full memory evicts", newTape().took(1, "c1>n1", "a").fault(2, history.NodeMemory, "n1").took(3, "c2>n1", "b"), "", ""},

		{"its clock was put forward", newTape().took(1, "c1>n1", "a").clock(2, "n1", 1500, 1).took(3, "c2>n1", "b"), "", ""},
		{"its clock was put back",
			newTape().clock(0, "n1", 5000, 1).took(1, "c1>n1", "a").clock(2, "n1", 3000, 1).met(2500, "c2>n1", "b", "a"),
			"", ""},
		{"its clock runs fast", newTape().clock(0, "n1", 0, 2).took(1, "c1>n1", "a").took(502, "c2>n1", "b"), "", ""},
		{"its clock runs fast from later on", newTape().clock(2000, "n1", 2000, 2).took(2001, "c1>n1", "a").took(2502, "c2>n1",
			"b"), "", ""},
		{"its clock ran fast, and does no more", newTape().clock(0, "n1", 0, 2).clock(2000, "n1", 4000, 1).took(2001, "c1>n1", "a").
			took(2502, "c2>n1", "b"), Cluster, "a SET of b succeeded"},
		{"another's clock runs fast", newTape().clock(0, "n2", 0, 2).took(1, "c1>n1", "a").took(502, "c2>n1", "b"),
			Cluster, "a SET of b succeeded"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			report := test.tape.report()
			if test.about == "" {
				assert.Empty(t, report.Findings)
				return
			}
			require.Len(t, report.Findings, 1)
			assert.Equal(t, test.about, report.Findings[0].About)
			assert.Contains(t, report.Findings[0].What, test.by)
			assert.Zero(t, report.Unjudged)
		})
	}
}

func newTapeWith(f func(*tape)) *tape {
	t := newTape()
	f(t)
	return t
}

// A lock that says nothing of itself may have scripts that we do not see through.
func TestScriptsOfALockThatIsNotKnown(t *testing.T) {
	const doubt = "or the lock has a script"
	report := newTape(func(h *history.Header) { h.Quorum = 0 }).extended(1, "c1>n1", "a", true).report()
	require.Equal(t, Cluster, report.Findings[0].About)
	assert.Contains(t, report.Findings[0].What, doubt)
	assert.NotContains(t, newTape().extended(1, "c1>n1", "a", true).report().Findings[0].What, doubt)
}

// since says that the last fault may have been in effect before.
func (t *tape) since(at int64) *tape {
	t.events[len(t.events)-1].Fault.Since = at * ms
	return t
}

// lateExpiry is an extension whose expiry only the reply shows, as its script was not
// known when it was sent.
func (t *tape) lateExpiry(at int64, link, token string) *tape {
	t.extended(at, link, token, true)
	command, reply := t.events[len(t.events)-2].Command, t.events[len(t.events)-1].Command
	command.Expiry, reply.Expiry = 0, 1000*ms
	return t
}

// A finding names what came before it.
func TestFindingsTellWhatCameBefore(t *testing.T) {
	tape := newTape().took(1, "c1>n1", "a").took(2, "c2>n1", "b")
	assert.Contains(t, tape.report().Findings[0].What, "before it: a SET of a succeeded (c1>n1, at 0.001 s)")
	tape = newTape().freed(1, "c1>n1", "a").took(2, "c2>n1", "b").freed(3, "c3>n1", "b")
	assert.Contains(t, tape.report().Findings[0].What, "before it: a look showed no key (n1, at 0.000 s)")
	assert.Contains(t, newTape().took(1, "c1>n1", "a").freed(2, "c2>n1", "b").report().Findings[0].What,
		"a script of the lock does not ask first")
}

// All findings are counted, and the first of them are told.
func TestFindingsAreCounted(t *testing.T) {
	tape := newTape()
	for i := range int64(3) {
		tape.took(1+i, "c1>n1", "a").freed(1+i, "c1>n1", "a")
	}
	for i := range int64(maxFindings + 5) { // of as many leases, each is one of too few nodes
		tape.said(10+i, "c1", history.TypeInvoke, history.OpAcquire, "", "").said(10+i, "c1", history.TypeOK, history.OpAcquire, "x", "")
	}
	report := tape.report()
	assert.Len(t, report.Findings, maxFindings)
	assert.Equal(t, maxFindings+5, report.Count)
	assert.Equal(t, maxFindings+5, report.Believed)
	assert.Nil(t, report.About(Cluster))
	assert.NotNil(t, report.About(Lock))
}

// Two commands that were under way at once may have been carried out in either
// order, and both have to fit one.
func TestRegisterOrder(t *testing.T) {
	both := func(first, second string) *Report {
		tape := newTape()
		a := tape.sent(1, "c1>n1", set("a"))
		b := tape.sent(2, "c2>n1", set("b"))
		a(5, first, first == "OK")
		b(6, second, second == "OK")
		return tape.report()
	}
	assert.Empty(t, both("OK", "a").Findings)
	assert.Empty(t, both("b", "OK").Findings, "the later call may have been the first")
	assert.NotEmpty(t, both("OK", "OK").Findings)
	assert.NotEmpty(t, both("b", "a").Findings)
}

// In real time a look is recorded when it is over: a key that was taken meanwhile may
// or may not show.
func TestLooksTakeTime(t *testing.T) {
	for _, real := range []bool{false, true} {
		tape := newTape(func(h *history.Header) { h.RealTime = real })
		report := tape.took(5000, "c1>n1", "a").look(5500, "n1", "", 0).took(9000, "c1>n1", "b").look(9100, "n1", "b", 900).report()
		assert.Equal(t, !real, len(report.Findings) > 0)
	}
	tape := newTape(func(h *history.Header) { h.RealTime = true })
	assert.NotEmpty(t, tape.took(5000, "c1>n1", "a").extended(5800, "c1>n1", "a", true).look(6500, "n1", "", 0).report().Findings)
}

// A history of any length is judged piece by piece, with what one piece leaves taken
// into the next.
func TestRegisterInPieces(t *testing.T) {
	tape := newTape()
	at := int64(1)
	for range 1000 {
		tape.took(at, "c1>n1", "a").met(at+1, "c2>n1", "b", "a").freed(at+2, "c1>n1", "a")
		at += 5
	}
	reader := NewReader()
	most := 0
	for i := range tape.events {
		reader.Add(i, &tape.events[i])
		if g := reader.nodes["n1"].keys["k"]; g != nil {
			most = max(most, len(g.ops))
		}
	}
	report := reader.Report()
	assert.Empty(t, report.Findings)
	assert.GreaterOrEqual(t, report.Judged, 3000)
	assert.LessOrEqual(t, most, 3*pieceSize, "operations are kept until they are judged, and no longer")

	tape.took(at, "c1>n1", "a").took(at+1, "c2>n1", "b")
	for range 1000 {
		at += 5
		tape.freed(at, "c2>n1", "b").took(at+1, "c2>n1", "b")
	}
	assert.Equal(t, 1, tape.report().Count)
}

// Two nodes of one run id are one server, whose keys both show.
func TestRegisterOfOneServerTwice(t *testing.T) {
	tape := newTape()
	show := func(at int64, node, token string) {
		tape.look(at, node, token, 999)
		tape.events[len(tape.events)-1].Node.RunID = "r"
	}
	show(0, "n1", "")
	show(0, "n2", "")
	tape.took(1, "c1>n1", "a")
	show(2, "n1", "a")
	show(2, "n2", "a")
	assert.Empty(t, tape.report().Findings)
	tape.took(3, "c2>n2", "b")
	assert.NotEmpty(t, tape.report().Findings)
}

// A list or a hash that a lock's script has made beside its key is no lock, and nothing is held against it: asynq's
// uniqueness lock puts a task there. A key that commands take is judged, whatever is in it.
func TestKeysThatNoLockIsIn(t *testing.T) {
	show := func(tape *tape, at int64, key string) {
		tape.look(at, "n1", "a", 900)
		tape.events[len(tape.events)-1].Node.Keys[key] = history.KeyState{TTL: -1}
	}
	tape := newTape().took(1, "c1>n1", "a")
	show(tape, 100, "pending")
	assert.Empty(t, tape.report().Findings)

	tape = newTape().took(1, "c1>n1", "a")
	show(tape, 100, "counter")
	tape.events[len(tape.events)-1].Node.Keys["counter"] = history.KeyState{Token: "3", TTL: -1}
	assert.Empty(t, tape.report().Findings, "a string that a script of the lock counts beside its key")

	tape = newTape().add(history.Event{Time: 1 * ms, Process: "c1", Type: history.TypeInvoke, Op: history.OpAcquire, ID: 1, Key: "k"})
	tape.look(50, "n1", "a", 900)
	assert.Len(t, tape.report().Findings, 1, "a string at the lock's key that nobody has set")

	tape = newTape()
	tape.look(1, "n1", "a", 900)
	tape.events[len(tape.events)-1].Node.Keys = map[string]history.KeyState{"k": {TTL: 900 * ms}}
	assert.Empty(t, tape.report().Findings)
	tape.met(2, "c1>n1", "b", "x")
	assert.Empty(t, tape.report().Findings, "what was there before is not held against who finds it")

	tape = newTape().took(1, "c1>n1", "a").freed(2, "c1>n1", "a")
	tape.look(3, "n1", "a", 900)
	tape.events[len(tape.events)-1].Node.Keys = map[string]history.KeyState{"k": {TTL: 900 * ms}}
	assert.Len(t, tape.report().Findings, 1, "it was given back, and is there again")
}

// Where commands are never answered and nothing can be said, that is said.
func TestRegisterGivesUp(t *testing.T) {
	tape := newTape()
	for i := range int64(3000) {
		tape.sent(1+i, "c1>n1", set(strings.Repeat("a", 1+int(i%7))))
	}
	report := tape.report()
	assert.Empty(t, report.Findings)
	assert.Positive(t, report.Unjudged)
}
