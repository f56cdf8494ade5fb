package checker

import (
	"fmt"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// A read that began as a write ended may have come before it, also where a piece of the history is full.
func TestNoPieceEndsWhileAnAccessIsUnderWay(t *testing.T) {
	var accesses []access
	last := ""
	for i := range int64(pieceSize) {
		next := fmt.Sprint("v", i)
		accesses = append(accesses, access{write: true, base: last, value: next, call: 10 * i, ret: 10*i + 5})
		last = next
	}
	end := accesses[len(accesses)-1].ret
	accesses = append(accesses, access{value: accesses[len(accesses)-1].base, call: end, ret: end + 5})
	require.Empty(t, chain(accesses))
	require.Equal(t, porcupine.CheckResult(porcupine.Ok), derivedRegisterOracle(accesses))
}

// A version that was derived from another shows that the other was there before it was seen itself.
func TestAVersionWasThereBeforeWhatWasDerivedFromIt(t *testing.T) {
	s := tale()
	s.write("c1", 0, 0, 900, history.TypeInfo, "", "v1", 0)
	s.write("c2", 0, 0, 900, history.TypeInfo, "v1", "v2", 0)
	s.read("c3", 0, 50, 100, "v2", 0)
	s.read("c1", 0, 50, 500, "v1", 0)
	r := s.history(t, 0).analysis.record
	for _, a := range r.key("k1").accesses() {
		if a.write {
			require.Equal(t, 100*ms, a.ret, a.value)
		}
	}
	s = tale() // which two versions can be of one another that nobody has
	s.write("c1", 0, 0, 900, history.TypeInfo, "v2", "v1", 0)
	s.write("c2", 0, 0, 900, history.TypeInfo, "v1", "v2", 0)
	s.read("c3", 0, 50, 100, "v2", 0)
	require.Equal(t, history.Violated, s.judged(t, ProtectedData).Verdict)
}

// What is early is told of by the write before what saw it, or else by the first of those that saw what was before.
func TestWhoContradictsTheTimes(t *testing.T) {
	found := chain([]access{
		{client: "c1", call: 10, ret: 30}, {client: "c2", call: 10, ret: 30},
		{write: true, value: "v1", call: 1, ret: 5, client: "c3"},
	})
	require.Equal(t, []string{"c1", "c3"}, []string{found[0].early.client, found[0].late.client})
	found = chain([]access{
		{client: "c1", call: 10, ret: 30}, {write: true, value: "v1", call: 10, ret: 30, client: "c2"},
		{value: "v1", call: 1, ret: 5, client: "c3"},
	})
	require.Equal(t, []string{"c2", "c3"}, []string{found[0].early.client, found[0].late.client})
}

// Of two updates of one version that were done at one moment, the one that was called first is lost.
func TestWhichOfTwoUpdatesIsLost(t *testing.T) {
	found := chain([]access{
		{write: true, value: "a", call: 1, ret: 5, client: "c1"},
		{write: true, value: "b", call: 2, ret: 5, client: "c2"},
	})
	require.Len(t, found, 1)
	require.Equal(t, []string{"a", "b"}, []string{found[0].early.value, found[0].late.value})
}

func TestWhenAWriteTookEffect(t *testing.T) {
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
	} {
		t.Run(test.name, func(t *testing.T) {
			s := tale()
			test.tell(s)
			a := s.history(t, 0).analysis.record.key("k1").accesses()[0]
			require.Equal(t, span{test.from * ms, test.to * ms}, span{a.call, a.ret})
		})
	}
}
