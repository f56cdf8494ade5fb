package checker

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// An outcome need not repeat what its invoke has said, and an ID may be far ahead of the count.
func TestOutcome_MayOmitInvokeFields(t *testing.T) {
	tell := func(repeated bool, first int) Verdict {
		s := tale()
		s.ids["c1"] = first - 1
		id := s.grant("c1", 0, 10, 900)
		s.extend("c1", id, 500, 510, 900)
		s.read("c1", id, 520, 530, "", 0)
		s.write("c1", id, 540, 550, history.TypeOK, "", "v1", 0)
		s.grant("c2", 1300, 1310, 900)
		s.write("c2", 1, 1320, 1330, history.TypeOK, "", "v2", 0)
		events := s.end(0)
		for i := range events {
			if e := &events[i]; e.Type == history.TypeOK && !repeated {
				e.Key, e.Base, e.Lease = "", "", 0
				if e.Op == history.OpWrite {
					e.Value = ""
				}
			}
		}
		verdict, err := check(events)
		require.NoError(t, err)
		return verdict
	}
	want := tell(true, 1)
	require.Equal(t, history.Violated, want.Of(MutualExclusion).Verdict)
	require.Equal(t, history.Violated, want.Of(ProtectedData).Verdict)
	require.Equal(t, want.Results, tell(false, 1).Results)
	require.Equal(t, want.Of(MutualExclusion).Measured, tell(true, 5000).Of(MutualExclusion).Measured)
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

// Whichever reading of the history fails, its error is told: nothing is judged by half of it.
func TestAnErrorOfAnyReadingIsTold(t *testing.T) {
	s := tale()
	s.sets(5, "c1", "c1.1", 2500, "n1", "n2", "n3")
	s.grant("c1", 0, 10, 900)
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
	require.Equal(t, 2, passes)
	require.ErrorIs(t, judge(1), broken)
	require.ErrorIs(t, judge(2), broken)
}
