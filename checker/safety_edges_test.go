package checker

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// A release stands, also if its client is told at the same moment that the lease is lost, or extended; and a lease that has
// run out at that moment has run out.
func TestWhatEndsALeaseFirst(t *testing.T) {
	s := tale()
	id := s.grant("c1", 0, 10, 900)
	s.release("c1", id, 50, 60, history.TypeOK)
	s.add(50, history.Event{Process: "c1", Type: history.TypeLost, Lease: id, Key: "k1"})
	id = s.grant("c1", 100, 110, 100)
	s.extend("c1", id, 205, 210, 100)
	s.release("c1", id, 210, 220, history.TypeOK)
	var ends []string
	for l := range s.history(t, 0).Leases() {
		ends = append(ends, fmt.Sprint(l.Until/ms, l.Ended))
	}
	require.Equal(t, []string{"50" + EndedRelease, "210" + EndedDeadline}, ends)
}

// Of two that hold the lock for as long as one another, a third overlaps the first.
func TestTheFirstOfTheLongestIsNamed(t *testing.T) {
	s := tale()
	s.grant("c1", 0, 10, 100)
	s.grant("c2", 0, 20, 90)
	s.grant("c3", 0, 30, 10)
	found := s.judged(t, MutualExclusion).Violations
	require.Len(t, found, 2)
	require.Equal(t, []string{"c1", "c3"}, found[1].Processes)
	brief := func(v Violation) string {
		p, known := Find(MutualExclusion)
		require.True(t, known)
		return p.Brief(v, "60 ms")
	}
	require.Equal(t, "c1 and c3 both hold it: 60 ms", brief(found[1]))
	require.Equal(t, "violated: 60 ms", brief(Violation{Processes: []string{"c1"}}))
}

// An outcome may say what its invoke has not, and leaves what only the invoke has said.
func TestAnOutcomeMaySayWhatItsInvokeDidNot(t *testing.T) {
	s := tale()
	for _, w := range [][3]string{{"c1", "", "v1"}, {"c2", "v1", "v2"}, {"c1", "v2", "v3"}} {
		s.write(w[0], 0, 10, 20, history.TypeOK, w[1], w[2], 0)
	}
	events := s.end(0)
	for i := range events {
		if e := &events[i]; e.Type == history.TypeInvoke {
			e.Value, e.Base = "", ""
		}
	}
	verdict, err := check(events)
	require.NoError(t, err)
	require.NotEqual(t, history.Violated, verdict.Of(ProtectedData).Verdict)
	require.EqualValues(t, 3, verdict.Of(ProtectedData).Measured["writes"])
}

func TestAnOutcomeNeedsAnInvoke(t *testing.T) {
	s := tale()
	s.op(0, 10, history.TypeOK, history.Event{Process: "c1", Op: history.OpAcquire, Key: "c2", Validity: ms})
	s.add(20, history.Event{Process: "c2", Type: history.TypeOK, Op: history.OpAcquire, ID: 1, Key: "k1"})
	_, err := check(s.end(0))
	require.ErrorContains(t, err, "c2's operation 1 (acquire), which has no invoke")
}

// The first write that is of no new version is named, whichever key it is to.
func TestTheFirstWriteOfNoNewVersionIsNamed(t *testing.T) {
	for _, keys := range [][]string{{"k1", "k2"}, {"k2", "k1"}} {
		s := tale()
		for i, key := range keys {
			for j := range int64(2) {
				s.op(int64(100*i)+10*j, int64(100*i)+10*j+5, history.TypeOK,
					history.Event{Process: "c1", Op: history.OpWrite, Key: key, Value: "v" + key})
			}
		}
		_, err := check(s.end(0))
		require.ErrorContains(t, err, "event 3: c1 writes v"+keys[0])
	}
}

// Of two who had used one token the first is named.
func TestTheFirstUseOfANewerTokenIsNamed(t *testing.T) {
	s := tale()
	s.header.Fencing = true
	s.write("c1", 0, 0, 10, history.TypeOK, "", "v1", 7)
	s.write("c2", 0, 20, 30, history.TypeOK, "v1", "v2", 7)
	s.write("c3", 0, 40, 50, history.TypeOK, "v2", "v3", 3)
	events := s.end(0)
	for i := range events {
		if events[i].Type == history.TypeInvoke {
			events[i].Fence = events[i+1].Fence
		}
	}
	verdict, err := check(events)
	require.NoError(t, err)
	require.Contains(t, verdict.Of(ProtectedData).Violations[0].What, "although c1 had used token 7 by 0.010 s")
}

func TestWhichGrantATokenIsLowerThan(t *testing.T) {
	s := tale()
	s.header.Fencing = true
	for i, token := range []int64{7, 7, 1, 0} {
		at := int64(100 * i)
		s.op(at, at+10, history.TypeOK, history.Event{Process: "c1", Op: history.OpAcquire, Key: "k1", Fence: token, Validity: ms})
	}
	var froms []int64
	for _, v := range s.judged(t, Fencing).Violations {
		froms = append(froms, v.From/ms)
	}
	slices.Sort(froms)
	require.Equal(t, []int64{10, 10, 300}, froms, "token 1 is lower than the first 7, and 0 is missing, and nothing else")
}

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

// Whichever reading of the history fails, its error is told: nothing is judged by half of it.
func TestAnErrorOfAnyReadingIsTold(t *testing.T) {
	s := tale()
	s.lasting(1, 3000, "fill", "n5")
	s.deletes(3, "c1", "c1.1", "n1", "n2", "n3")
	s.sets(5, "c1", "c1.1", 2500, "n1", "n2", "n3")
	s.attempt("c1", 0, 10, history.TypeFail)
	s.attempt("c2", 20, 3000, history.TypeFail)
	s.grant("c3", 3010, 3020, 900)
	s.grant("c2", 3030, 3040, 900)
	broken := errors.New("the disk is gone")
	passes := 0
	judge := func(failing int) error {
		passes = 0
		h, err := Read(func(visit func(*history.Event) error) error {
			if passes++; passes == failing {
				return broken
			}
			return InMemory(s.end(0))(visit)
		})
		if err != nil {
			return err
		}
		_, err = h.Verdict()
		return err
	}
	require.NoError(t, judge(0))
	all := passes
	require.Equal(t, 3, all)
	for failing := 1; failing <= all; failing++ {
		require.ErrorIs(t, judge(failing), broken, "reading %d of %d", failing, all)
	}
}

func TestEveryPropertyIsFound(t *testing.T) {
	for _, p := range Properties() {
		found, known := Find(p.Name)
		require.True(t, known, p.Name)
		require.Equal(t, p.Meaning, found.Meaning)
	}
	_, known := Find("toy")
	require.False(t, known)
}

// A version that was derived from another shows that the other was there before it was seen itself.
func TestAVersionWasThereBeforeWhatWasDerivedFromIt(t *testing.T) {
	s := tale()
	s.write("c1", 0, 0, 900, history.TypeInfo, "", "v1", 0)
	s.write("c2", 0, 0, 900, history.TypeInfo, "v1", "v2", 0)
	s.read("c3", 0, 50, 100, "v2", 0)
	s.read("c1", 0, 50, 500, "v1", 0)
	r := s.history(t, 0).analysis.record
	for _, a := range r.of("k1").accesses(r) {
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

// A write that its client knows to be done is not on its way any more: a copy of its command means nothing.
func TestAWriteIsStoredBeforeItsClientKnows(t *testing.T) {
	s := tale()
	s.write("c1", 0, 10, 20, history.TypeOK, "", "v1", 0)
	s.stored("c1", "v1", 30, 35)
	r := s.history(t, 0).analysis.record
	a := r.of("k1").accesses(r)[0]
	require.Equal(t, []int64{10 * ms, 20 * ms}, []int64{a.call, a.ret})
}

// A write whose client was told nothing was done when the first who read it was.
func TestAWriteWasDoneWhenItWasSeenFirst(t *testing.T) {
	s := tale()
	s.write("c1", 0, 0, 900, history.TypeInfo, "", "v1", 0)
	s.read("c2", 0, 50, 500, "v1", 0)
	s.read("c3", 0, 60, 100, "v1", 0)
	r := s.history(t, 0).analysis.record
	require.Equal(t, 100*ms, r.of("k1").accesses(r)[0].ret)
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

// A lease that is over as it begins is in nobody's way.
func TestAnEmptyLeaseOverlapsNothing(t *testing.T) {
	leases := []lease{{from: 0, until: 100, grant: &operation{id: 1}}, {from: 50, until: 50, grant: &operation{id: 2}}}
	require.Equal(t, porcupine.CheckResult(porcupine.Ok), ownedMutexOracle(leases))
	require.Empty(t, sweep(newVocabulary(), leases))
}
