package traffic

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.org/lockproof/harness/history"
)

// access is a command to the store. It returns a function that adds the reply.
func (t *tape) access(at int64, client string, c history.Command) func(at int64, reply string, done bool) *tape {
	answer := t.sent(at, client+">store", c)
	t.events[len(t.events)-1].Command.Key = "value:k"
	return func(at int64, reply string, done bool) *tape {
		answer(at, reply, done)
		t.events[len(t.events)-1].Command.Key = "value:k"
		return t
	}
}

func writes(version string) history.Command {
	return history.Command{Name: "SET", Token: version, Effect: history.EffectSet, Unconditional: true}
}

func fencedWrites(version string, token int64) history.Command {
	return history.Command{Name: "EVALSHA", Token: version, Effect: history.EffectSet, Fence: token}
}

func comparedWrites(version, base string) history.Command {
	return history.Command{Name: "EVALSHA", Token: version, Effect: history.EffectSet, Base: base}
}

// wrote, found and the like are commands that the store answered at once.
func (t *tape) wrote(at int64, version string) *tape {
	return t.access(at, "c1", writes(version))(at, "OK", true)
}

func (t *tape) found(at int64, version string) *tape {
	if version == "" {
		return t.access(at, "c2", history.Command{Name: "GET", Effect: history.EffectRead})(at, "nil", false)
	}
	return t.access(at, "c2", history.Command{Name: "GET", Effect: history.EffectRead})(at, version, true)
}

func (t *tape) fencedWrite(at int64, version string, token int64, passes bool) *tape {
	return t.access(at, "c1", fencedWrites(version, token))(at, map[bool]string{true: "1", false: "0"}[passes], passes)
}

func (t *tape) fencedRead(at int64, token int64, reply string, passes bool) *tape {
	return t.access(at, "c2", history.Command{Name: "EVALSHA", Effect: history.EffectRead, Fence: token})(at, reply,
		passes)
}

func (t *tape) comparedWrite(at int64, version, base string, passes bool) *tape {
	return t.access(at, "c1", comparedWrites(version, base))(at, map[bool]string{true: "1", false: "0"}[passes], passes)
}

func TestStore(t *testing.T) {
	fenced := func(h *history.Header) { h.FencedStore = true }
	unanswered := func(c history.Command, change ...func(*history.Header)) *tape {
		tape := newTape(change...)
		tape.access(1, "c2", c)
		return tape
	}
	long := strings.Repeat("v", 61)
	tests := []struct {
		name string
		tape *tape
		by   string // the operation that fits no order, "" if all fit
	}{
		{"written and read", newTape().found(1, "").wrote(2, "v1").found(3, "v1").wrote(4, "v2").found(5, "v2"), ""},
		{"another version than was written", newTape().wrote(2, "v1").found(3, "v2"), "a read found v2"},
		{"a version that nobody wrote", newTape().found(1, "v1"), "a read found v1"},
		{"what was overwritten", newTape().wrote(1, "v1").wrote(2, "v2").found(3, "v1"), "a read found v1"},
		{"nothing, though it was written", newTape().wrote(1, "v1").found(2, ""), "a read was refused"},
		{"a SET is never refused", newTape().access(1, "c1", writes("v1"))(1, "nil", false), "a write of v1 was refused"},
		{"an error changes nothing", newTape().access(1, "c1", writes("v1"))(1, "error: OOM", false).found(2, ""), ""},
		{"a version that was shortened", newTape().wrote(1, long+"xyz!").found(2, long+"..."), ""},
		{"another one that was shortened", newTape().wrote(1, "w"+long+"xyz").found(2, long+"..."), "a read found vvv"},
		{"nothing runs out", newTape().wrote(1, "v1").found(100_000, "v1"), ""},

		{"no answer: it was carried out", unanswered(writes("v1")).found(2, "v1"), ""},
		{"no answer: it was not", unanswered(writes("v1")).found(2, ""), ""},
		{"no answer: it was later", unanswered(writes("v1")).wrote(2, "v2").found(3, "v2").found(4, "v1"), ""},
		{"no answer: it was once", unanswered(writes("v1")).found(2, "v1").wrote(3, "v2").found(4, "v1"), "a read found v1"},

		{"tokens grow", newTape(fenced).fencedRead(1, 1, "", true).fencedWrite(2, "v1", 1, true).fencedRead(3, 2, "v1", true).
			fencedWrite(4, "v2", 2, true), ""},
		{"an old token is refused", newTape(fenced).fencedWrite(1, "v2", 2, true).fencedWrite(2, "v1", 1, false).
			fencedRead(3, 1, "nil", false).fencedRead(3, 2, "v2", true), ""},
		{"an old token passes", newTape(fenced).fencedWrite(1, "v2", 2, true).fencedWrite(2, "v1", 1, true),
			"a write of v1 succeeded"},
		{"an old token passes after a read", newTape(fenced).fencedRead(1, 2, "", true).fencedWrite(2, "v1", 1, true),
			"a write of v1 succeeded"},
		{"an old token reads", newTape(fenced).fencedWrite(1, "v2", 2, true).fencedRead(2, 1, "v2", true), "a read found v2"},
		{"a token is refused for nothing", newTape(fenced).fencedWrite(1, "v2", 2, false), "a write of v2 was refused"},
		{"a read is refused for nothing", newTape(fenced).fencedRead(1, 2, "nil", false), "a read was refused"},
		{"a look without a token claims none", newTape(fenced).found(1, "").fencedWrite(2, "v1", 0, true), ""},
		{"a token of an unanswered read", unanswered(history.Command{Name: "EVALSHA", Effect: history.EffectRead, Fence: 3},
			fenced).
			fencedWrite(2, "v2", 2, false), ""},

		{"the base is there", newTape().comparedWrite(1, "v1", "", true).comparedWrite(2, "v2", "v1", true), ""},
		{"the base is gone", newTape().comparedWrite(1, "v1", "", true).comparedWrite(2, "v2", "", false).found(3, "v1"), ""},
		{"the base is gone, and it passes", newTape().comparedWrite(1, "v1", "", true).comparedWrite(2, "v2", "", true),
			"a write of v2 succeeded"},
		{"the base is there, and it is refused", newTape().comparedWrite(1, "v1", "", false), "a write of v1 was refused"},
		{"the base of an unanswered write is not there", unanswered(comparedWrites("v2", "v1")).found(2, "v2"),
			"a read found v2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.by == "" {
				requireFinding(t, test.tape, "", "")
				return
			}
			assert.Equal(t, "store", requireFinding(t, test.tape, Cluster, test.by).Findings[0].Process)
		})
	}
}

// The outcome that a client reports for its write must match the store's reply.
func TestClientWrites_MatchTheStoresReplies(t *testing.T) {
	said := func(t *tape, at int64, typ history.Type, version string) *tape {
		return t.add(history.Event{Time: at * ms, Process: "c1", Type: typ, Op: history.OpWrite, ID: 1, Key: "k",
			Value: version})
	}
	refused := func() *tape {
		return newTape().access(1, "c1", writes("v1"))(1, "error: READONLY", false)
	}
	tests := []struct {
		name  string
		tape  *tape
		about About // "": no finding
		what  string
	}{
		{"acknowledged", said(newTape().wrote(1, "v1"), 2, history.TypeOK, "v1"), "", ""},
		{"acknowledged, and the store refused it", said(refused(), 2, history.TypeOK, "v1"),
			Cluster, "no link shows that the store accepted it"},
		{"acknowledged, and it is another's", said(newTape().wrote(1, "v2"), 2, history.TypeOK, "v1"),
			Cluster, "its write v1"},
		{"failed", said(refused(), 2, history.TypeFail, "v1"), "", ""},
		{"failed, and the store accepted it", said(newTape().wrote(1, "v1"), 2, history.TypeFail, "v1"),
			Cluster, "the store had accepted it"},
		{"unknown, and the store accepted it", said(newTape().wrote(1, "v1"), 2, history.TypeInfo, "v1"), "", ""},
		{"invoked", said(newTape().found(1, ""), 2, history.TypeInvoke, "v1"), "", ""},
		{"a history without the store's links", said(newTape(), 2, history.TypeOK, "v1"), "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { requireFinding(t, test.tape, test.about, test.what) })
	}
}

// The store is judged even if replicas replace their masters.
func TestStoreBesideReplicas(t *testing.T) {
	replicas := func(h *history.Header) { h.Replicas = map[string]string{"r1": "n1"} }
	assert.Empty(t, newTape(replicas).took(1, "c1>n1", "a").took(2, "c2>n1", "b").report().Findings)
	assert.NotEmpty(t, newTape(replicas).found(1, "v1").report().Findings)
}

func TestStoreInPieces(t *testing.T) {
	for _, fenced := range []bool{false, true} {
		tape := newTape(func(h *history.Header) { h.FencedStore = fenced })
		last, at := "", int64(1)
		for range 500 {
			at++
			version := last + "v"
			if len(version) > 9 {
				version = "w"
			}
			if fenced {
				tape.fencedRead(2*at, at, last, true).fencedWrite(2*at+1, version, at, true)
			} else {
				tape.found(2*at, last).wrote(2*at+1, version)
			}
			last = version
		}
		report := tape.report()
		assert.Empty(t, report.Findings)
		assert.GreaterOrEqual(t, report.Judged, 1000)
		assert.Zero(t, report.Unjudged)
		if fenced {
			assert.Equal(t, 1, tape.fencedWrite(2*at+2, "late", at-1, true).report().Count)
		} else {
			assert.Equal(t, 1, tape.found(2*at+2, "late").report().Count)
		}
	}
}

// If the history is cut at a fenced read, the value that it showed is known.
func TestFencedRead_SettlesTheStore(t *testing.T) {
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
