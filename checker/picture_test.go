package checker

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPictureShowsTheOverlapAndTheFault(t *testing.T) {
	s := tale()
	s.grant("c1", 0, 10, 900)
	s.instant(20, "kill", "n3")
	s.grant("c2", 30, 40, 900)
	h := s.history(t, 1000)
	verdict, err := h.Verdict()
	require.NoError(t, err)
	overlaps := verdict.Of(MutualExclusion).Violations
	require.Len(t, overlaps, 1)

	var page strings.Builder
	require.NoError(t, h.Picture(overlaps[0], &page))
	require.Contains(t, page.String(), "c2 takes the lock")
	require.Contains(t, page.String(), "held by c1, lease 1")
	require.Contains(t, page.String(), "n3 was killed at 0.020 s")

	require.ErrorContains(t, h.Picture(Violation{Key: "k1"}, &page), "has no leases")
}

// porcupine's page puts states into its document as HTML.
func TestPictureEscapesNames(t *testing.T) {
	require.Equal(t, "held by &lt;img src=x&gt;, lease 1", drawnMutexModel.DescribeState(owner{"<img src=x>", 1}))
}

// A mutex is given back by its owner only.
func TestThePicturesMutexKnowsItsOwner(t *testing.T) {
	first, second := owner{"c1", 1}, owner{"c2", 1}
	for _, step := range []struct {
		state owner
		op    mutexCall
		legal bool
	}{
		{owner{}, mutexCall{first, true}, true}, {first, mutexCall{second, true}, false},
		{first, mutexCall{first, false}, true}, {second, mutexCall{first, false}, false}, {owner{}, mutexCall{first, false}, false},
	} {
		legal, _ := drawnMutexModel.Step(step.state, step.op, nil)
		require.Equal(t, step.legal, legal, "%v %v", step.state, step.op)
	}
}

// A picture has the leases around its violation, each up to the nanosecond before its end, and the faults meanwhile.
func TestPictureShowsWhatIsAroundIt(t *testing.T) {
	s := tale()
	for i := range int64(100) {
		s.grant("c1", 100*i, 100*i+10, 50)
	}
	for _, at := range []int64{2999, 3000, 6960, 6961} {
		s.instant(at, "flush", "n1")
	}
	p := picture{s.history(t, 0).analysis.record}
	around := func(at int64) (first, last int64) {
		leases := p.around(Violation{Key: "k1", From: at * ms})
		require.Len(t, leases, maxPicturedLeases)
		return leases[0].From / ms, leases[len(leases)-1].From / ms
	}
	first, last := around(5010)
	require.Equal(t, []int64{3010, 6910}, []int64{first, last})
	first, _ = around(4911)
	require.Equal(t, int64(3010), first)
	first, _ = around(10)
	require.Equal(t, int64(10), first)

	leases := p.around(Violation{Key: "k1", From: 5010 * ms})
	drawn := p.drawn(leases[:1])
	require.Equal(t, []int64{3010 * ms, 3010 * ms, 3060*ms - 1, 3060*ms - 1},
		[]int64{drawn[0].Call, drawn[0].Return, drawn[1].Call, drawn[1].Return})
	var shown []int64
	for _, note := range p.annotations(leases) {
		shown = append(shown, note.Start/ms)
	}
	require.Equal(t, []int64{3000, 6960}, shown)
	require.Empty(t, p.annotations(p.around(Violation{Key: "of nobody"})))
}
