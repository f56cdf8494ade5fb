package checker

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// fenced grants k1 with a fencing token.
func (s *story) fenced(client string, asked, done, fence int64) {
	s.op(asked, done, history.TypeOK, history.Event{Process: client, Op: history.OpAcquire, Key: "k1", Token: client,
		Fence: fence, Validity: 2000 * ms})
}

func TestFencing(t *testing.T) {
	late := func(set int64, token string, others ...history.Command) func(*story) {
		return func(s *story) { // c1 requests first, but its commands arrive late
			for _, c := range others {
				s.command(10, "c1>n1", c)(11, "1", true)
			}
			s.sets(set, "c1", token, 900, "n1")
			s.fenced("c1", 0, 60, 1)
			s.fenced("c2", 20, 30, 2)
		}
	}
	unknown := func(key string) history.Command {
		return history.Command{Name: "COPY", Key: key, Others: []string{"elsewhere"}}
	}
	const lateIs = `c1 began to acquire "k1" at 0.050 s and got token 1, lower than the 2 that c2 had got`
	requireVerdicts(t, Fencing, []storyCase{
		{"none", func(s *story) {
			s.header.Fencing = false
			s.grant("c1", 0, 10, 900)
		}, history.Inconclusive, "vacuous: the lock issues no fencing tokens"},
		{"growing", func(s *story) {
			s.fenced("c1", 0, 10, 1)
			s.fenced("c2", 20, 30, 2)
			s.fenced("c1", 40, 50, 7)
		}, history.Holds, ""},
		{"shrinking", func(s *story) {
			s.fenced("c1", 0, 10, 2)
			s.fenced("c2", 20, 30, 1)
		}, history.Violated,
			`c2 began to acquire "k1" at 0.020 s and got token 1, lower than the 2 that c1 had got at 0.010 s`},
		{"equal", func(s *story) {
			s.fenced("c1", 0, 10, 2)
			s.fenced("c2", 20, 30, 2)
		}, history.Violated, "with token 2, which c1 had got"},
		{"under way at once, any order", func(s *story) {
			s.fenced("c1", 0, 25, 2)
			s.fenced("c2", 20, 30, 1)
		}, history.Holds, ""},
		{"lower than one of long ago", func(s *story) {
			s.fenced("c1", 0, 10, 5)
			s.fenced("c2", 5, 30, 4)
			s.fenced("c3", 40, 50, 3)
		}, history.Violated, "lower than the 5"},
		{"missing", func(s *story) { s.fenced("c1", 0, 10, 0) }, history.Violated, "without a fencing token"},
		{"a SET arrives after another's lease", late(50, "c1"), history.Violated, lateIs},
		{"before another was granted it", late(29, "c1"), history.Holds, ""},
		{"one of an attempt before it does", late(50, "t0"), history.Holds, ""},
		{"and another command may have taken it before", late(50, "c1", unknown("k1")), history.Inconclusive, "unknown"},
		{"and that is of another key", late(50, "c1", unknown("k2")), history.Violated, lateIs},
		{"whatever unknown commands did, a grant came before it returned", func(s *story) {
			s.command(10, "c1>n1", unknown("k1"))(11, "1", true)
			s.fenced("c1", 0, 1000, 2)
			s.fenced("c2", 20, 1020, 3)
		}, history.Holds, ""},
	}, func(s *story) { s.header.Fencing = true })
}

func TestFencing_LowerToken_IsReportedOnce(t *testing.T) {
	s := newStory()
	s.header.Fencing = true
	for i, token := range []int64{7, 7, 1, 0} {
		at := int64(100 * i)
		s.fenced("c1", at, at+10, token)
	}
	var froms []int64
	for _, v := range s.judged(t, Fencing).Violations {
		froms = append(froms, v.From/ms)
	}
	slices.Sort(froms)
	require.Equal(t, []int64{10, 10, 300}, froms, "token 1 is lower than the first 7, and 0 is missing, and nothing else")
}
