package traffic

import (
	"fmt"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// script is a SET by a script, which may find its own token there.
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

// A node's clock is known to 2 ms: within them a key may be there or gone, beyond them it is as the clock says.
func TestAKeyEndsWithin2ms(t *testing.T) {
	took := func() *tape { return newTape().took(1, "c1>n1", "a") } // until 1001
	ends := func() *tape {
		tape := newTape().clock(100, "n1", 5000, 1).took(200, "c1>n1", "a")
		for _, e := range tape.events[len(tape.events)-2:] {
			e.Command.ExpiresAt = 5900 * ms
		}
		return tape
	}
	lasting := func() *tape {
		c := set("a")
		c.Expiry = 0
		return newTape().sent(1, "c1>n1", c)(1, "OK", true)
	}
	for _, test := range []struct {
		name string
		tape *tape
		fits bool
	}{
		{"taken 2 ms before its end", took().took(999, "c2>n1", "b"), true},
		{"3 ms before", took().took(998, "c2>n1", "b"), false},
		{"met 2 ms after its end", took().met(1003, "c2>n1", "b", "a"), true},
		{"3 ms after", took().met(1004, "c2>n1", "b", "a"), false},
		{"with 2 ms less to live", took().look(3, "n1", "a", 996), true},
		{"with 3 ms less", took().look(3, "n1", "a", 995), false},
		{"with 2 ms more to live", took().look(3, "n1", "a", 1000), true},
		{"with 3 ms more", took().look(3, "n1", "a", 1001), false},
		{"until a reading of its clock", ends().took(998, "c2>n1", "b"), true},
		{"not before it", ends().took(997, "c2>n1", "b"), false},
		{"for ever", lasting().met(100_000, "c2>n1", "b", "a"), true},
		{"not for ever", lasting().took(100_000, "c2>n1", "b"), false},
	} {
		assert.Equal(t, test.fits, len(test.tape.report().Findings) == 0, test.name)
	}
}

// What a node answers fits what is known of a key, and of a script that does not ask for the key the lock is to blame.
func TestAnswersFitWhatIsKnown(t *testing.T) {
	down := func() *tape { return newTape().took(1, "c1>n1", "a").fault(2, history.NodeDown, "n1") }
	for _, test := range []struct {
		name  string
		tape  *tape
		about About // "" where it fits
	}{
		{"a script takes its own again", newTape().took(1, "c1>n1", "a").script(2, "c1>n1", "a", "1", true), ""},
		{"a script takes another's", newTape().took(1, "c1>n1", "a").script(2, "c2>n1", "b", "1", true), Lock},
		{"a script takes what is free", newTape().script(2, "c2>n1", "b", "1", true), ""},
		{"a script does not take what is free", newTape().script(2, "c2>n1", "b", "0", false), Lock},
		{"a script does not take another's", newTape().took(1, "c1>n1", "a").script(2, "c2>n1", "b", "0", false), ""},
		{"refused by somebody's, after a restart", down().met(3, "c2>n1", "b", "nil").met(4, "c2>n1", "b", "x"), ""},
		{"refused by one's, after a restart", down().met(3, "c2>n1", "b", "x").met(4, "c2>n1", "b", "y"), Cluster},
		{"extended after a restart", down().extended(3, "c1>n1", "a", true).met(4, "c2>n1", "b", "a"), ""},
		{"extended after a restart, and another's", down().extended(3, "c1>n1", "a", true).met(4, "c2>n1", "b", "x"), Cluster},
		{"shown", newTape().took(1, "c1>n1", "a").showed(2, "c2>n1", "a"), ""},
		{"shown as another's", newTape().took(1, "c1>n1", "a").showed(2, "c2>n1", "x"), Cluster},
		{"not shown, though it is there", newTape().took(1, "c1>n1", "a").showed(2, "c2>n1", ""), Cluster},
		{"not shown, and not there", newTape().showed(2, "c2>n1", "").took(3, "c1>n1", "a"), ""},
		{"shown, though it is not there", newTape().showed(2, "c2>n1", "a"), Cluster},
		{"not shown, and gone for good", newTape().took(1, "c1>n1", "a").showed(1000, "c2>n1", "").met(1001, "c2>n1", "b", "a"), Cluster},
		{"asked, and no answer", newTapeWith(func(t *tape) {
			t.took(1, "c1>n1", "a").sent(2, "c2>n1", history.Command{Name: "GET", Effect: history.EffectRead})
		}).met(3, "c2>n1", "b", "a"), ""},
		{"of two servers", newTapeWith(func(t *tape) {
			for _, node := range []string{"n1", "n2"} {
				t.look(0, node, "", 0).events[len(t.events)-1].Node.RunID = "of " + node
			}
		}).took(1, "c1>n1", "a").took(1, "c2>n2", "b"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			report := test.tape.report()
			if test.about == "" {
				assert.Empty(t, report.Findings)
				return
			}
			require.Len(t, report.Findings, 1)
			assert.Equal(t, test.about, report.Findings[0].About)
		})
	}
}

// An operation that begins at the moment at which another ends may have come before it.
func TestWhatTouchesMayComeFirst(t *testing.T) {
	removed := func(from int64) *tape { // a key, of which a SET knows that begins as its delete ends
		tape := newTape().took(0, "c1>n1", "a")
		done := tape.sent(from, "c1>n1", del("a"))
		met := tape.sent(5, "c2>n1", set("b"))
		done(5, "1", true)
		return met(6, "a", false)
	}
	assert.Empty(t, removed(1).report().Findings)
	assert.Empty(t, removed(0).report().Findings)

	tape := newTape() // each begins before the one before it ends
	first, second := tape.sent(0, "c1>n1", set("a")), tape.sent(2, "c2>n1", set("b"))
	first(5, "b", false)
	assert.Empty(t, second(6, "OK", true).report().Findings)

	tape = newTape().took(1, "c1>n1", "a").took(1, "c2>n1", "b")
	assert.Contains(t, tape.report().Findings[0].What, "at 0.001 s, a SET of b succeeded")
}

// A history is cut only where no other operation is under way, at its beginning or its end.
func TestNothingIsCutThatTouches(t *testing.T) {
	begun := func() (*tape, int64) {
		tape, at := newTape(), int64(1)
		for range pieceSize/2 - 2 {
			tape.took(at, "c1>n1", "a").freed(at+1, "c1>n1", "a")
			at += 2
		}
		return tape.took(at, "c1>n1", "a"), at + 1
	}
	goOn := func(tape *tape, at int64, holder string) *Report {
		for range pieceSize {
			at++
			tape.met(at, "c3>n1", "c", holder)
		}
		return tape.report()
	}
	tape, at := begun() // the delete was after the SET that begins as it ends
	done := tape.sent(at, "c1>n1", del("a"))
	met := tape.sent(at+1, "c2>n1", set("b"))
	done(at+1, "1", true)
	met(at+2, "a", false)
	tape.took(at+3, "c2>n1", "b")
	assert.Empty(t, goOn(tape, at+3, "b").Findings)

	tape, at = begun() // the delete was before the SET that ends as it begins
	taken := tape.sent(at, "c2>n1", set("b"))
	done = tape.sent(at+1, "c1>n1", del("a"))
	taken(at+1, "OK", true)
	done(at+2, "1", true)
	assert.Empty(t, goOn(tape, at+2, "b").Findings)
}

// An operation is judged once where nothing can be cut, and the search for an order takes no longer than it may.
func TestWhatIsJudgedIsCounted(t *testing.T) {
	tape := newTape()
	tape.sent(1, "c1>n1", set("a"))
	for at := range int64(150) {
		tape.met(10+at, "c2>n1", "b", "a")
	}
	assert.Equal(t, 1+151, tape.report().Judged, "a look, and the commands")

	var none int
	var always clock
	piece := []*op{{action: take, answer: yes, token: "a", ret: 5}, {action: take, answer: no, token: "b", seen: "a", call: 2, ret: 6}}
	assert.Equal(t, porcupine.CheckResult(porcupine.Unknown), registerModel{clock: &always, left: &none}.linearizable(piece))
}

func TestFindingsAreInOrder(t *testing.T) {
	for range 20 {
		tape := newTape()
		for i := range int64(3) {
			link := fmt.Sprint(">n", 3-i)
			tape.took(2*i+1, "c1"+link, "a").took(2*i+2, "c2"+link, "b")
		}
		report := tape.report()
		require.Len(t, report.Findings, 3)
		require.True(t, slices.IsSortedFunc(report.Findings, func(a, b Finding) int { return a.Event - b.Event }))
	}
}

// What settles leaves the register in one state, whatever it was before.
func TestWhatSettles(t *testing.T) {
	var always clock
	nodes := []state{{}, {is: absent}, {is: held, token: "x", first: never, last: never}, {is: held, token: "a", first: never, last: never}}
	store := []state{{}, {is: held, first: never, last: never}, {is: held, token: "x", first: never, last: never}}
	for _, test := range []struct {
		op      op
		settles bool
	}{
		{op{action: take, answer: yes, token: "a"}, true}, {op{action: take, answer: yes, token: "a", seen: "a"}, false},
		{op{action: take, answer: no, token: "a"}, false}, {op{action: take, token: "a"}, false},
		{op{action: remove, answer: yes, token: "a"}, true}, {op{action: remove, answer: no, token: "a"}, false},
		{op{action: remove, token: "a"}, false}, {op{action: extend, answer: yes, token: "a"}, false}, {op{action: reset, answer: yes}, false},
		{op{action: look, answer: no}, true}, {op{action: look, answer: yes, seen: "a"}, true}, {op{action: read, answer: yes, seen: "a"}, false},
		{op{action: put, answer: yes, token: "x"}, true}, {op{action: put, answer: no, token: "x", check: compared}, false},
		{op{action: put, token: "x"}, false}, {op{action: get, answer: yes, seen: "x", check: fenced}, true},
		{op{action: get, answer: yes, seen: "x"}, false}, {op{action: get, answer: yes, seen: "x...", check: fenced}, false},
		{op{action: get, answer: no, check: fenced}, false}, {op{action: get, seen: "x", check: fenced}, false},
	} {
		o := &test.op
		require.Equal(t, test.settles, o.settles(), "%+v", o)
		if !test.settles {
			continue
		}
		before := nodes
		if o.action == put || o.action == get {
			before = store
		}
		left := map[state]bool{}
		for _, s := range before {
			for _, next := range (registerModel{clock: &always}).successors(s, o) {
				left[next] = true
			}
		}
		require.Len(t, left, 1, "%+v", o)
	}
}

// What a fenced read showed is known where the history was cut at it.
func TestAFencedStoreIsKnownByItsReads(t *testing.T) {
	reads := func() *tape {
		tape := newTape(func(h *history.Header) { h.FencedStore = true }).fencedWrite(1, "v1", 1, true)
		for at := range int64(3 * pieceSize) {
			tape.fencedRead(2+at, 2, "v1", true)
		}
		return tape
	}
	assert.Empty(t, reads().fencedWrite(900, "v2", 2, true).report().Findings)
	assert.Len(t, reads().fencedRead(900, 2, "v2", true).report().Findings, 1)
	assert.Len(t, reads().fencedWrite(900, "v2", 1, true).report().Findings, 1)
}

// Where nobody answers, every order is possible until the last look contradicts all of them:
// the search gives up after so many steps, on a slow machine as on a fast one.
func TestASearchEndsAfterSoManySteps(t *testing.T) {
	left := searchesLimit
	var always clock
	piece := []*op{{action: look, answer: no, ret: 1}}
	for i := range 40 {
		piece = append(piece, &op{action: take, token: string(rune('a' + i)), call: int64(2 + i), ret: never})
	}
	piece = append(piece, &op{action: look, answer: yes, seen: "nobody", call: 100, ret: 101})
	found := registerModel{clock: &always, left: &left}.linearizable(piece)
	assert.Equal(t, porcupine.CheckResult(porcupine.Unknown), found)
	assert.InDelta(t, searchesLimit-searchLimit, left, 100_000)
}
