package checker

import (
	"fmt"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/harness/history"
)

// chained are updates, each after a read of the one before.
func chained(updates int) (accesses []access) {
	last := ""
	for i := range int64(updates) {
		next := fmt.Sprint("v", i)
		accesses = append(accesses,
			access{value: last, call: 10 * i, ret: 10*i + 2},
			access{write: true, base: last, value: next, call: 10*i + 4, ret: 10*i + 6})
		last = next
	}
	return accesses
}

// A read that began when a write ended may come before it, even if a piece of the history is full there.
func TestRegisterOracle_AccessUnderWay_EndsNoPiece(t *testing.T) {
	accesses := chained(pieceSize / 2)
	last := accesses[len(accesses)-1]
	accesses = append(accesses, access{value: last.base, call: last.ret, ret: last.ret + 5})
	require.Empty(t, chain(accesses))
	require.Equal(t, porcupine.CheckResult(porcupine.Ok), derivedRegisterOracle(accesses))
}

// The early access is the write before the late one, or else the first access that saw the state before. Of updates
// that end together, the one that was called first is lost.
func TestChain_WrongOrder_NamesBothAccesses(t *testing.T) {
	for _, accesses := range [][]access{
		{{client: "early", call: 10, ret: 30}, {client: "c2", call: 10, ret: 30},
			{client: "late", write: true, value: "v1", call: 1, ret: 5}},
		{{client: "c1", call: 10, ret: 30}, {client: "early", write: true, value: "v1", call: 10, ret: 30},
			{client: "late", value: "v1", call: 1, ret: 5}},
		{{client: "early", write: true, value: "a", call: 1, ret: 5},
			{client: "late", write: true, value: "b", call: 2, ret: 5}},
	} {
		found := chain(accesses)
		require.Len(t, found, 1)
		require.Equal(t, []string{"early", "late"}, []string{found[0].early.client, found[0].late.client})
	}
}

func TestAccesses_EffectTimes(t *testing.T) {
	for _, test := range []struct {
		name     string
		tell     func(*story)
		from, to int64
	}{
		{"before its client knows, whatever copy of its command arrives later", func(s *story) {
			s.write("c1", 0, 10, 20, history.TypeOK, "", "v1", 0)
			s.stored("c1", "v1", 30, 35)
		}, 10, 20},
		{"with the first of its commands that reached the store", func(s *story) {
			s.write("c1", 0, 10, 900, history.TypeInfo, "", "v1", 0)
			s.stored("c1", "v1", 30, 35)
			s.stored("c1", "v1", 45, 50)
		}, 30, 35},
		{"before the first who read it was done", func(s *story) {
			s.write("c1", 0, 0, 900, history.TypeInfo, "", "v1", 0)
			s.read("c2", 0, 50, 500, "v1", 0)
			s.read("c3", 0, 60, 100, "v1", 0)
		}, 0, 100},
		{"before the first who read what was derived from it was done", func(s *story) {
			s.write("c1", 0, 0, 900, history.TypeInfo, "", "v1", 0)
			s.write("c2", 0, 0, 900, history.TypeInfo, "v1", "v2", 0)
			s.read("c3", 0, 50, 100, "v2", 0)
			s.read("c1", 0, 50, 500, "v1", 0)
		}, 0, 100},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			test.tell(s)
			r := s.history(t, 0).record
			accesses, _ := r.accesses(r.key("k1"))
			a := accesses[0]
			require.Equal(t, span{test.from * ms, test.to * ms}, span{a.call, a.ret})
		})
	}
}

// If the reply to a write that reached the store is missing, its acceptance is unknown: it may be stale, or lose an
// update.
func TestWrite_ReplyMissing_MayBeAccepted(t *testing.T) {
	why := `unknown: c1's write v2 of "k1" had no reply`
	requireVerdicts(t, ProtectedData, []storyCase{
		{"derived from what was overwritten", func(s *story) { s.stored("c1", "v2", 300, 0) }, history.Inconclusive, why},
		{"and rejected", func(s *story) {
			s.command(300, "c1>store", history.Command{Name: "EVAL", Key: "value:k1", Token: "v2",
				Effect: history.EffectSet})(310, "0", false)
		}, history.Holds, ""},
		{"at a store that rejects it as stale", func(s *story) {
			s.header.FencedStore = true
			s.stored("c1", "v2", 300, 0)
		}, history.Holds, ""},
		{"that did not reach the store", func(*story) {}, history.Holds, ""},
	}, func(s *story) {
		s.grant("c1", 0, 10, 900)
		s.write("c1", 1, 20, 0, "", "", "v2", 1)
		s.write("c2", 0, 100, 200, history.TypeOK, "", "v1", 2)
		s.stored("c2", "v1", 110, 150)
	})
}

// Without the links to the store, a write of which nobody learned the outcome may have reached it.
func TestWrite_NoLinksToTheStore_MayBeAccepted(t *testing.T) {
	why := `unknown: c1's write v2 of "k1" had no reply`
	requireVerdicts(t, ProtectedData, []storyCase{
		{"it never returned", func(s *story) { s.write("c1", 1, 20, 0, "", "", "v2", 0) }, history.Inconclusive, why},
		{"its outcome is unknown", func(s *story) { s.write("c1", 1, 20, 30, history.TypeInfo, "", "v2", 0) },
			history.Inconclusive, why},
		{"it failed", func(s *story) { s.write("c1", 1, 20, 30, history.TypeFail, "", "v2", 0) }, history.Holds, ""},
		{"it loses nothing", func(s *story) { s.write("c1", 1, 210, 0, "", "v1", "v2", 0) }, history.Holds, ""},
	}, func(s *story) {
		s.grant("c1", 0, 10, 900)
		s.write("c2", 0, 100, 200, history.TypeOK, "", "v1", 0)
	})
}

// legal tries every order of a few accesses that agrees with their times.
func legal(state string, left []access) bool {
	if len(left) == 0 {
		return true
	}
	for i, a := range left {
		if a.from() != state || preceded(a, left) {
			continue
		}
		rest := append(append([]access(nil), left[:i]...), left[i+1:]...)
		next := state
		if a.write && !a.unseen {
			next = a.value
		}
		if legal(next, rest) {
			return true
		}
	}
	return false
}

// preceded reports whether another access ended before this one began.
func preceded(a access, left []access) bool {
	for _, other := range left {
		if other.ret < a.call {
			return true
		}
	}
	return false
}

// randomAccesses draws up to seven accesses in call order, most of them plausible.
func randomAccesses(t *rapid.T) []access {
	var all []access
	values := []string{""}
	time := int64(0)
	for i := range rapid.IntRange(0, 7).Draw(t, "accesses") {
		time += rapid.Int64Range(0, 6).Draw(t, "gap")
		a := access{client: "c1", call: time, ret: time + rapid.Int64Range(0, 10).Draw(t, "length"), op: &operation{}}
		known := rapid.SampledFrom(values[max(0, len(values)-2):]).Draw(t, "known")
		if a.write = rapid.Bool().Draw(t, "write"); a.write {
			a.base, a.value = known, fmt.Sprint("v", i)
			if a.unseen = rapid.IntRange(0, 3).Draw(t, "seen") == 0; !a.unseen {
				values = append(values, a.value)
			}
		} else {
			a.value = rapid.SampledFrom([]string{known, known, known, "v5"}).Draw(t, "read")
		}
		all = append(all, a)
	}
	return all
}

func TestRegisterOracles_AgreeWithBruteForce(t *testing.T) {
	outcomes := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		accesses := randomAccesses(t)
		want := legal("", accesses)
		outcomes[want]++
		require.Equal(t, want, len(chain(accesses)) == 0, "%+v", accesses)
		require.Equal(t, want, derivedRegisterOracle(accesses) == porcupine.Ok)
	})
	require.NotZero(t, outcomes[true])
	require.NotZero(t, outcomes[false])
}

// A long legal chain is cut into pieces, each of which passes its last version to the next.
func TestRegisterOracle_SplitHistoryEqualsWhole(t *testing.T) {
	accesses := chained(1000)
	require.Empty(t, chain(accesses))
	require.Equal(t, porcupine.CheckResult(porcupine.Ok), derivedRegisterOracle(accesses))
	accesses[1001].base = "v3"
	require.NotEmpty(t, chain(accesses))
	require.Equal(t, porcupine.CheckResult(porcupine.Illegal), derivedRegisterOracle(accesses))
}

func TestProtectedData(t *testing.T) {
	requireVerdicts(t, ProtectedData, []storyCase{
		{"an update is lost", func(s *story) {
			s.write("c2", 0, 40, 50, history.TypeOK, "", "v1", 0)
			s.write("c1", 1, 60, 70, history.TypeOK, "", "v2", 0)
		}, history.Violated, "c2's update v1, acknowledged at 0.050 s, is lost: c1 overwrote it with v2 at " +
			"0.070 s, and both updates were derived from the initial version"},
		{"a write of unknown fate that the store let pass, and that was overwritten", func(s *story) {
			s.stored("c2", "v1", 41, 42)
			s.write("c2", 0, 40, 50, history.TypeOK, "", "v1", 0)
			s.stored("c1", "v2", 61, 62)
			s.write("c1", 1, 60, 70, history.TypeInfo, "", "v2", 0)
			s.stored("c2", "v3", 81, 82)
			s.write("c2", 0, 80, 90, history.TypeOK, "v1", "v3", 0)
		}, history.Violated, "c2's update v1, acknowledged at 0.050 s, is lost: c1 overwrote it with v2 at " +
			"0.062 s"},
		{"a write of unknown fate with an old token that the store let pass", func(s *story) {
			s.stored("c2", "v1", 41, 42)
			s.write("c2", 0, 40, 50, history.TypeOK, "", "v1", 34)
			s.stored("c1", "v2", 61, 62)
			s.write("c1", 1, 60, 70, history.TypeInfo, "v1", "v2", 33)
		}, history.Violated, "the store accepted c1's write v2 with fencing token 33 at 0.062 s"},
		{"a failed write that was read", func(s *story) {
			s.write("c1", 1, 40, 45, history.TypeFail, "", "v2", 0)
			s.read("c2", 0, 80, 90, "v2", 0)
		}, history.Violated, "c2 found v2 in the store at 0.090 s, which no write can have stored"},
		{"two versions with each other as base", func(s *story) {
			s.write("c1", 0, 0, 900, history.TypeInfo, "v2", "v1", 0)
			s.write("c2", 0, 0, 900, history.TypeInfo, "v1", "v2", 0)
			s.read("c3", 0, 50, 100, "v2", 0)
		}, history.Violated, ""},
		{"a read of what was overwritten", func(s *story) {
			s.write("c1", 1, 20, 30, history.TypeOK, "", "v1", 0)
			s.read("c2", 0, 40, 50, "", 0)
		}, history.Violated, "c1's write v1 replaced the initial version by 0.030 s, although c2 began to read the " +
			"initial version only at 0.040 s"},
		{"a write with an older token than one acknowledged", func(s *story) {
			s.write("c2", 0, 20, 30, history.TypeOK, "", "v1", 34)
			s.write("c1", 1, 40, 50, history.TypeOK, "v1", "v2", 33)
		}, history.Violated, "the store accepted c1's write v2 with fencing token 33 at 0.050 s, although c2 had used " +
			"token 34"},
		{"a read claims its token too", func(s *story) {
			s.read("c2", 0, 20, 30, "", 34)
			s.write("c1", 1, 40, 50, history.TypeOK, "", "v2", 33)
		}, history.Violated, "with fencing token 33"},
		{"nobody wrote", func(s *story) { s.read("c1", 1, 20, 30, "", 0) }, history.Inconclusive,
			"vacuous: no write was acknowledged"},
	}, func(s *story) { s.grant("c1", 0, 10, 900) })
}
