package traffic

import (
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
