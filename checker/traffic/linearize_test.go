package traffic

import (
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An operation that settles leaves the register in one state, whatever it was before.
func TestSettles(t *testing.T) {
	var always clock
	nodes := []state{{}, {is: absent}, {is: held, token: "x", first: never, last: never},
		{is: held, token: "a", first: never, last: never}}
	store := []state{{}, {is: held, first: never, last: never}, {is: held, token: "x", first: never, last: never}}
	for _, test := range []struct {
		op      op
		settles bool
	}{
		{op{action: take, answer: yes, token: "a"}, true}, {op{action: take, answer: yes, token: "a", seen: "a"}, false},
		{op{action: take, answer: no, token: "a"}, false}, {op{action: take, token: "a"}, false},
		{op{action: remove, answer: yes, token: "a"}, true}, {op{action: remove, answer: no, token: "a"}, false},
		{op{action: remove, token: "a"}, false}, {op{action: extend, answer: yes, token: "a"}, false},
		{op{action: reset, answer: yes}, false},
		{op{action: look, answer: no}, true}, {op{action: look, answer: yes, seen: "a"}, true},
		{op{action: read, answer: yes, seen: "a"}, false},
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

// Without replies, every order is possible until the last look contradicts all of them: the search ends after a number
// of steps, on slow and fast machines alike.
func TestSearch_StepLimit_IsUnknown(t *testing.T) {
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

// A history of any length is judged piece by piece; each piece begins with the state that the last one left.
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

// Commands that are never answered and allow no verdict are reported as unjudged.
func TestRegisterGivesUp(t *testing.T) {
	tape := newTape()
	for i := range int64(3000) {
		tape.sent(1+i, "c1>n1", set(strings.Repeat("a", 1+int(i%7))))
	}
	report := tape.report()
	assert.Empty(t, report.Findings)
	assert.Positive(t, report.Unjudged)
}
