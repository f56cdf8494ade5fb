package traffic

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

func TestRegister(t *testing.T) {
	deletes := history.Command{Name: "DEL", Effect: history.EffectDelete}
	counts := history.Command{Name: "INCR"}
	prolongs := history.Command{Name: "PEXPIRE", Expiry: 500 * ms, Effect: history.EffectExtend}
	taken := func() *tape { return newTape().took(1, "c1>n1", "a") }
	asked := func() *tape {
		tape := taken()
		tape.sent(2, "c2>n1", history.Command{Name: "GET", Effect: history.EffectRead})
		return tape
	}
	unanswered := func() *tape {
		tape := newTape()
		tape.sent(1, "c1>n1", set("a"))
		return tape
	}
	down := func() *tape { return taken().fault(2, history.NodeDown, "n1") }
	untilReading := func() *tape {
		tape := newTape().clock(100, "n1", 5000, 1).took(200, "c1>n1", "a")
		for _, e := range tape.events[len(tape.events)-2:] {
			e.Command.ExpiresAt = 5900 * ms
		}
		return tape
	}
	forEver := func() *tape {
		return newTape().ran(1, "c1>n1", history.Command{Name: "SET", Token: "a", Effect: history.EffectSet}, "OK")
	}
	tests := []struct {
		name  string
		tape  *tape
		about About  // "": no finding
		by    string // the operation that does not fit
	}{
		{"taken, given back, taken", taken().freed(2, "c1>n1", "a").took(3, "c2>n1", "b"), "", ""},
		{"two take it", taken().took(2, "c2>n1", "b"), Cluster, "a SET of b succeeded"},
		{"two take it, by SET without NX", taken().ran(2, "c2>n1", writes("b"), "OK"), "", ""},
		{"a SET GET without NX shows what it replaces",
			taken().ran(2, "c2>n1", writes("b"), "a").met(3, "c1>n1", "a", "b"), "", ""},
		{"and nothing else", taken().ran(2, "c2>n1", writes("b"), "x"), Cluster, "a SET of b succeeded"},
		{"a script's value that is none of its arguments, a look shows",
			newTape().script(1, "c1>n1", "", "1", true).look(2, "n1", "locked", 999).met(3, "c2>n1", "b", "locked"), "", ""},
		{"and that one alone", newTape().script(1, "c1>n1", "", "1", true).look(2, "n1", "locked", 999).
			met(3, "c2>n1", "b", "x"), Cluster, "a SET of b found x"},
		{"it ran out", taken().took(1001, "c2>n1", "b"), "", ""},
		{"it is said to have run out too early", taken().took(990, "c2>n1", "b"), Cluster, "a SET of b succeeded"},
		{"it should have run out", taken().met(1010, "c2>n1", "b", "a"), Cluster, "a SET of b found a"},
		{"taken 2 ms before it should have run out", taken().took(999, "c2>n1", "b"), "", ""},
		{"met 2 ms after it should have run out", taken().met(1003, "c2>n1", "b", "a"), "", ""},
		{"refused, and nobody has it", newTape().met(1, "c1>n1", "a", "x"), Cluster, "a SET of a found x"},
		{"refused without a word of whom", taken().met(2, "c2>n1", "b", "nil"), "", ""},
		{"refused in another's name", taken().met(2, "c2>n1", "b", "x"), Cluster, "a SET of b found x"},
		{"its own token again, as the node says, which has another's",
			taken().ran(2, "c2>n1", set("b"), "b"), Cluster, "a SET of b succeeded"},
		{"an error changes nothing",
			newTape().sent(1, "c1>n1", set("a"))(1, "error: OOM", false).took(2, "c2>n1", "b"), "", ""},
		{"queued says nothing yet", newTape().sent(1, "c1>n1", set("a"))(1, "QUEUED", false).took(2, "c2>n1", "b"), "", ""},

		{"what a command does that we do not know, nobody knows",
			newTape().ran(1, "c1>n1", counts, "1").extended(1, "c1>n1", "", true).ran(2, "c1>n1", deletes, "1"), "", ""},
		{"a command that we do not know may change every key that it names", taken().
			ran(2, "c2>n1", history.Command{Name: "RENAME", Key: "y", Others: []string{"x", "k"}}, "OK").
			met(3, "c2>n1", "b", "z"), "", ""},
		{"whose a key is that it left, a look shows", newTape().ran(2, "c2>n1", counts, "1").ran(3, "c2>n1", prolongs, "1").
			look(4, "n1", "1", 499).met(5, "c1>n1", "a", "1"), "", ""},
		{"and nobody else's", newTape().ran(2, "c2>n1", counts, "1").ran(3, "c2>n1", prolongs, "1").look(4, "n1", "1", 499).
			met(5, "c1>n1", "a", "2"), Cluster, "a SET of a found 2"},
		{"a delete of two keys of which one was there", taken().deletedOne(2, "c2>n1").met(3, "c2>n1", "b", "a"), "", ""},
		{"none that it does not name", taken().
			ran(2, "c2>n1", history.Command{Name: "RENAME", Key: "y", Others: []string{"x"}}, "OK").took(3, "c2>n1", "b"),
			Cluster, "a SET of b succeeded"},
		{"one that names no key may change all",
			taken().ran(2, "c2>n1", history.Command{Name: "FLUSHALL"}, "OK").took(3, "c2>n1", "b"), "", ""},
		{"a script may change its other keys", taken().ran(2, "c2>n1", history.Command{Name: "EVAL", Key: "y", Token: "b",
			Effect: history.EffectSet, Others: []string{"k"}}, "1").took(3, "c2>n1", "b"), "", ""},
		{"a SET XX that finds nothing", newTape().sent(2, "c2>n1", writes("b"))(2, "nil", false), "", ""},

		{"a delete that meets another's", taken().kept(2, "c2>n1", "b"), "", ""},
		{"a script deletes another's", taken().freed(2, "c2>n1", "b"), Lock, "a delete of b succeeded"},
		{"a script deletes nothing", newTape().freed(2, "c2>n1", "b"), Cluster, "a delete of b succeeded"},
		{"a script does not delete its own", taken().kept(2, "c1>n1", "a"), Lock, "a delete of a was refused"},
		{"a DEL asks for nothing", taken().ran(2, "c2>n1", deletes, "1").took(3, "c2>n1", "b"), "", ""},
		{"a DEL that finds it and says not",
			taken().sent(2, "c2>n1", deletes)(2, "0", false), Cluster, "a delete was refused"},

		{"extended, and there for longer", taken().extended(900, "c1>n1", "a", true).met(1500, "c2>n1", "b", "a"), "", ""},
		{"extended, and gone all the same",
			taken().extended(900, "c1>n1", "a", true).took(1500, "c2>n1", "b"), Cluster, "a SET of b succeeded"},
		{"not extended, and there for longer",
			taken().extended(900, "c1>n1", "x", false).met(1500, "c2>n1", "b", "a"), Cluster, "a SET of b found a"},
		{"extended by a script whose text came later",
			taken().lateExpiry(900, "c1>n1", "a").met(1500, "c2>n1", "b", "a"), "", ""},
		{"a script whose text came later extended it, and it is gone",
			taken().lateExpiry(900, "c1>n1", "a").took(1500, "c2>n1", "b"), Cluster, "a SET of b succeeded"},
		{"a script extends what is gone",
			newTape().extended(900, "c1>n1", "a", true), Cluster, "an extension of a succeeded"},
		{"a script extends another's", taken().extended(2, "c2>n1", "b", true), Lock, "an extension of b succeeded"},

		{"a reply that never came: it was carried out", unanswered().met(2, "c2>n1", "b", "a"), "", ""},
		{"a reply that never came: it was not", unanswered().took(2, "c2>n1", "b"), "", ""},
		{"a reply that never came: it was later",
			unanswered().took(2, "c2>n1", "b").freed(3, "c2>n1", "b").met(4, "c2>n1", "b", "a"), "", ""},
		{"a reply that never came explains nobody else",
			unanswered().met(2, "c2>n1", "b", "x"), Cluster, "a SET of b found x"},

		{"a restart without a look", down().took(3, "c2>n1", "b"), "", ""},
		{"a restart that kept it, by the look",
			down().look(3, "n1", "a", 998).took(4, "c2>n1", "b"), Cluster, "a SET of b succeeded"},
		{"a restart that forgot it, by the look", down().look(3, "n1", "", 0).took(4, "c2>n1", "b"), "", ""},
		{"a server took with it what it had not answered", unanswered().fault(2, history.NodeDown, "n1").look(3, "n1", "", 0).
			met(4, "c2>n1", "b", "a"), Cluster, "a SET of b found a"},
		{"a server may carry out until it dies what it has not answered", unanswered().took(2, "c2>n1", "b").
			freed(3, "c2>n1", "b").met(4, "c2>n1", "b", "a").fault(5, history.NodeDown, "n1"), "", ""},
		{"a flush leaves what is under way",
			unanswered().fault(2, history.NodeForgets, "n1").look(3, "n1", "", 0).met(4, "c2>n1", "b", "a"), "", ""},
		{"a restart that began before it was seen",
			newTape().took(10, "c1>n1", "a").took(12, "c2>n1", "b").fault(14, history.NodeDown, "n1").since(11), "", ""},
		{"a restart that did not", newTape().took(10, "c1>n1", "a").took(12, "c2>n1", "b").fault(14, history.NodeDown, "n1"),
			Cluster, "a SET of b succeeded"},
		{"it vanished", taken().look(3, "n1", "", 0), Cluster, "a direct reading showed no key"},
		{"it is there, with too long to live", taken().look(3, "n1", "a", 2000), Cluster, "a direct reading showed a"},
		{"it is there, with next to nothing to live", taken().look(1001, "n1", "a", 0).took(1002, "c2>n1", "b"), "", ""},
		{"it is there, for ever", taken().look(3, "n1", "a", -1), Cluster, "a direct reading showed a"},
		{"a flush", taken().fault(2, history.NodeForgets, "n1").took(3, "c2>n1", "b"), "", ""},
		{"a slot moves, and its key with it", taken().slotMoves(2, "n1", "n2").look(3, "n1", "", 0).look(3, "n2", "a", 998).
			met(4, "c2>n2", "b", "a").took(5, "c2>n1", "b"), "", ""},
		{"a key turns up where no slot has gone", newTape().took(1, "c1>n3", "b").freed(2, "c1>n3", "b").
			took(3, "c1>n1", "a").slotMoves(4, "n1", "n2").look(5, "n3", "a", 998), Cluster, "a direct reading showed a"},
		{"a slot's end began before it was seen",
			newTape().took(10, "c1>n1", "a").took(12, "c2>n1", "b").slotMoves(14, "n1", "n2").since(11), "", ""},
		{"a full memory evicts", taken().fault(2, history.NodeMemory, "n1").took(3, "c2>n1", "b"), "", ""},

		{"its clock was put forward", taken().clock(2, "n1", 1500, 1).took(3, "c2>n1", "b"), "", ""},
		{"its clock was put back", newTape().clock(0, "n1", 5000, 1).took(1, "c1>n1", "a").clock(2, "n1", 3000, 1).
			met(2500, "c2>n1", "b", "a"), "", ""},
		{"its clock runs fast", newTape().clock(0, "n1", 0, 2).took(1, "c1>n1", "a").took(502, "c2>n1", "b"), "", ""},
		{"its clock ran fast, and does no more", newTape().clock(0, "n1", 0, 2).clock(2000, "n1", 4000, 1).
			took(2001, "c1>n1", "a").took(2502, "c2>n1", "b"), Cluster, "a SET of b succeeded"},

		{"a script takes its own again", taken().script(2, "c1>n1", "a", "1", true), "", ""},
		{"a script takes another's", taken().script(2, "c2>n1", "b", "1", true), Lock, ""},
		{"a script does not take what is free", newTape().script(2, "c2>n1", "b", "0", false), Lock, ""},
		{"refused by somebody's, after a restart", down().met(3, "c2>n1", "b", "nil").met(4, "c2>n1", "b", "x"), "", ""},
		{"refused by one's, after a restart", down().met(3, "c2>n1", "b", "x").met(4, "c2>n1", "b", "y"), Cluster, ""},
		{"extended after a restart, and another's",
			down().extended(3, "c1>n1", "a", true).met(4, "c2>n1", "b", "x"), Cluster, ""},
		{"shown as another's", taken().showed(2, "c2>n1", "x"), Cluster, ""},
		{"not shown, though it is there", taken().showed(2, "c2>n1", ""), Cluster, ""},
		{"shown, though it is not there", newTape().showed(2, "c2>n1", "a"), Cluster, ""},
		{"not shown, and gone for good", taken().showed(1000, "c2>n1", "").met(1001, "c2>n1", "b", "a"), Cluster, ""},
		{"asked, and no answer", asked().met(3, "c2>n1", "b", "a"), "", ""},

		{"until a reading of its clock", untilReading().took(998, "c2>n1", "b"), "", ""},
		{"not before it", untilReading().took(997, "c2>n1", "b"), Cluster, ""},
		{"for ever", forEver().met(100_000, "c2>n1", "b", "a"), "", ""},
		{"not for ever", forEver().took(100_000, "c2>n1", "b"), Cluster, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			report := requireFinding(t, test.tape, test.about, test.by)
			assert.Zero(t, report.Unjudged)
		})
	}
}

// A lock that does not declare its quorum may have scripts that we misread.
func TestFinding_QuorumNotDeclared_HasACaveat(t *testing.T) {
	const doubt = "or a script of the lock does more"
	report := newTape(func(h *history.Header) { h.Quorum = 0 }).extended(1, "c1>n1", "a", true).report()
	require.Equal(t, Cluster, report.Findings[0].About)
	assert.Contains(t, report.Findings[0].What, doubt)
	assert.NotContains(t, newTape().extended(1, "c1>n1", "a", true).report().Findings[0].What, doubt)
}

// Two commands that were under way at once may have been executed in either order, and both must fit one.
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

// In real time a look is recorded when it ends: it may or may not show a key that was set meanwhile.
func TestLook_RealTime_TakesTime(t *testing.T) {
	for _, real := range []bool{false, true} {
		tape := newTape(func(h *history.Header) { h.RealTime = real })
		report := tape.took(5000, "c1>n1", "a").look(5500, "n1", "", 0).took(9000, "c1>n1", "b").look(9100, "n1", "b",
			900).report()
		assert.Equal(t, !real, len(report.Findings) > 0)
	}
	tape := newTape(func(h *history.Header) { h.RealTime = true })
	assert.NotEmpty(t, tape.took(5000, "c1>n1", "a").extended(5800, "c1>n1", "a", true).look(6500, "n1", "",
		0).report().Findings)
}

// Two nodes with one run id are one server, and both show its keys.
func TestRegister_OneRunIDTwice_IsOneServer(t *testing.T) {
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

// A list or a hash that a lock's script makes beside its key is not a lock, and causes no finding: asynq's uniqueness
// lock stores a task there. A key that commands set is judged, whatever its type.
func TestKeysBesideTheLock_AreNotJudged(t *testing.T) {
	shows := func(tape *tape, keys map[string]history.KeyState) *tape {
		tape.look(100, "n1", "a", 900)
		tape.events[len(tape.events)-1].Node.Keys = keys
		return tape
	}
	own, hash := history.KeyState{Token: "a", TTL: 900 * ms}, history.KeyState{TTL: 900 * ms}
	taken := func() *tape { return newTape().took(1, "c1>n1", "a") }
	requireFinding(t, shows(taken(), map[string]history.KeyState{"k": own, "pending": hash}), "", "")
	counted := map[string]history.KeyState{"k": own, "counter": {Token: "3", TTL: -1}}
	requireFinding(t, shows(taken(), counted), "", "") // a script of the lock counts beside its key

	nobodys := newTape().said(1, "c1", history.TypeInvoke, history.OpAcquire, "", "")
	requireFinding(t, shows(nobodys, map[string]history.KeyState{"k": own}), Cluster, "a direct reading showed a")

	before := shows(newTape(), map[string]history.KeyState{"k": hash})
	requireFinding(t, before, "", "")
	requireFinding(t, before.met(200, "c1>n1", "b", "x"), "", "") // what was there before is not held against who finds it
	again := shows(taken().freed(2, "c1>n1", "a"), map[string]history.KeyState{"k": hash})
	requireFinding(t, again, Cluster, "a direct reading showed a key without a token")
}
