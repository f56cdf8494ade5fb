package checker

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

func TestFencing(t *testing.T) {
	type grant struct {
		client      string
		asked, done int64
		fence       int64
	}
	tests := []struct {
		name    string
		grants  []grant
		verdict string
		what    string
	}{
		{"growing", []grant{{"c1", 0, 10, 1}, {"c2", 20, 30, 2}, {"c1", 40, 50, 7}}, history.Holds, ""},
		{"shrinking", []grant{{"c1", 0, 10, 2}, {"c2", 20, 30, 1}}, history.Violated,
			`c2 began to acquire "k1" at 0.020 s and got token 1, lower than the 2 that c1 had got at 0.010 s`},
		{"equal", []grant{{"c1", 0, 10, 2}, {"c2", 20, 30, 2}}, history.Violated, "with token 2, which c1 had got"},
		{"under way at once, any order", []grant{{"c1", 0, 25, 2}, {"c2", 20, 30, 1}}, history.Holds, ""},
		{"lower than one of long ago", []grant{{"c1", 0, 10, 5}, {"c2", 5, 30, 4}, {"c3", 40, 50, 3}}, history.Violated,
			"lower than the 5"},
		{"missing", []grant{{"c1", 0, 10, 0}}, history.Violated, "without a fencing token"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			s.header.Fencing = true
			for _, g := range test.grants {
				s.op(g.asked, g.done, history.TypeOK,
					history.Event{Process: g.client, Op: history.OpAcquire, Key: "k1", Fence: g.fence, Validity: ms})
			}
			r := s.requireVerdict(t, Fencing, test.verdict, "")
			if test.what != "" {
				require.Len(t, r.Violations, 1)
				require.Contains(t, r.Violations[0].What, test.what)
			}
		})
	}
	s := newStory()
	s.grant("c1", 0, 10, 900)
	s.requireVerdict(t, Fencing, history.Inconclusive, "vacuous: the lock issues no fencing tokens")
}

// c1 requests first, but its commands arrive late.
func TestFencing_GrantFollowsTheFirstSetOfItsKey(t *testing.T) {
	for _, c := range []struct {
		name    string
		set     int64 // when n1 receives c1's SET
		token   string
		other   string // the key of an unknown command, which n1 received earlier
		verdict string
	}{
		{"after c2's lease", 50, "t1", "", history.Violated},
		{"before c2 was granted it", 29, "t1", "", history.Holds},
		{"of an attempt before it", 50, "t0", "", history.Holds},
		{"unless another may have taken it", 50, "t1", "k1", ""},
		{"and that is of another key", 50, "t1", "k2", history.Violated},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory()
			s.header.Fencing = true
			grant := func(client, token string, asked, done, fence int64) {
				s.op(asked, done, history.TypeOK, history.Event{Process: client, Op: history.OpAcquire, Key: "k1", Token: token,
					Fence: fence, Validity: 900 * ms})
			}
			if c.other != "" {
				s.command(10, "c1>n1", history.Command{Name: "COPY", Key: c.other, Others: []string{"elsewhere"}})(11, "1", true)
			}
			s.sets(c.set, "c1", c.token, 900, "n1")
			grant("c1", "t1", 0, 60, 1)
			grant("c2", "t2", 20, 30, 2)
			if c.verdict == "" {
				require.Equal(t, history.Inconclusive, s.judged(t, Fencing).Verdict)
				return
			}
			r := s.requireVerdict(t, Fencing, c.verdict, "")
			if c.verdict == history.Violated {
				require.Contains(t, r.Violations[0].What, `c1 began to acquire "k1" at 0.050 s and got token 1, lower than the 2 `+
					`that c2 had got`)
			}
		})
	}
}

func TestFencing_LowerToken_IsReportedOnce(t *testing.T) {
	s := newStory()
	s.header.Fencing = true
	for i, token := range []int64{7, 7, 1, 0} {
		at := int64(100 * i)
		s.op(at, at+10, history.TypeOK, history.Event{Process: "c1", Op: history.OpAcquire, Key: "k1", Fence: token,
			Validity: ms})
	}
	var froms []int64
	for _, v := range s.judged(t, Fencing).Violations {
		froms = append(froms, v.From/ms)
	}
	slices.Sort(froms)
	require.Equal(t, []int64{10, 10, 300}, froms, "token 1 is lower than the first 7, and 0 is missing, and nothing else")
}

// Whatever unknown commands did, a grant came before it returned.
func TestFencing_UnknownCommand_TokensGrowByReturns(t *testing.T) {
	for fence, verdict := range map[int64]string{2: history.Holds, 4: history.Inconclusive} {
		s := newStory()
		s.header.Fencing = true
		s.command(10, "c1>n1", history.Command{Name: "ZADD", Key: "k1"})(11, "1", true)
		for i, f := range []int64{fence, 3} {
			at := int64(20 * i)
			s.op(at, at+1000, history.TypeOK, history.Event{Process: fmt.Sprintf("c%d", i+1), Op: history.OpAcquire, Key: "k1",
				Fence: f, Validity: 2000 * ms})
		}
		require.Equal(t, verdict, s.judged(t, Fencing).Verdict)
	}
}
