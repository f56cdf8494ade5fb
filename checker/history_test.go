package checker

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// failing counts the readings of a source, and fails at one of them.
func failing(source Source, times *int, at int, err error) Source {
	return func(visit func(*history.Event) error) error {
		if *times++; *times == at {
			return err
		}
		return source(visit)
	}
}

// If any reading of the history fails, no verdict comes from a part of it.
func TestHistory_IsReadOnce(t *testing.T) {
	s := newStory()
	id := s.grant("c1", 0, 10, 900)
	s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
	s.write("c1", id, 20, 30, history.TypeOK, "", "v1", 0)
	s.instant(40, "kill", "n3")
	s.grant("c2", 50, 60, 900)
	s.write("c2", 1, 70, 80, history.TypeOK, "", "v2", 0)
	times := 0
	h, err := Read(failing(InMemory(s.end(1000)), &times, 0, nil))
	require.NoError(t, err)
	require.Equal(t, 2, times, "once for the clocks, and once for the keys on the nodes, which need them")
	verdict, err := h.Verdict()
	require.NoError(t, err)
	require.NotEmpty(t, verdict.Of(MutualExclusion).Violations)

	again, err := h.Verdict()
	require.NoError(t, err)
	require.Equal(t, verdict, again)
	require.Len(t, h.Leases(), 2)
	require.Len(t, h.Ownerships(), 3)
	require.Positive(t, h.record.operations.longestGap().length())
	require.Len(t, h.LostUpdates("k1"), 1)
	require.Equal(t, 2, times, "what is asked of a history is answered from its reading")

	broken := errors.New("the disk is gone")
	for at := range 2 {
		times = 0
		_, err = Read(failing(InMemory(s.end(1000)), &times, at+1, broken))
		require.ErrorIs(t, err, broken)
	}
}

func TestLostUpdates(t *testing.T) {
	for _, test := range []struct {
		name string
		tell func(*story)
		want []LostUpdate
	}{
		{"the one that was acknowledged first is lost", func(s *story) {
			s.write("c1", 1, 10, 50, history.TypeOK, "", "v1", 0)
			s.write("c2", 1, 30, 40, history.TypeOK, "", "v2", 0)
		}, []LostUpdate{{"c2", "v2", "v1"}}},
		{"each takes the place of the one before", func(s *story) {
			s.write("c1", 1, 10, 20, history.TypeOK, "", "v1", 0)
			s.write("c2", 1, 30, 40, history.TypeOK, "", "v2", 0)
			s.write("c3", 1, 50, 60, history.TypeOK, "", "v3", 0)
		}, []LostUpdate{{"c1", "v1", "v2"}, {"c2", "v2", "v3"}}},
		{"one that was seen takes it, at the latest when it was seen", func(s *story) {
			s.write("c1", 1, 10, 20, history.TypeInfo, "", "v1", 0)
			s.write("c2", 1, 30, 40, history.TypeOK, "", "v2", 0)
			s.write("c3", 1, 50, 60, history.TypeOK, "v1", "v3", 0)
		}, []LostUpdate{{"c2", "v2", "v1"}}},
		{"what was never acknowledged is no lost update", func(s *story) {
			s.write("c1", 1, 10, 20, history.TypeInfo, "", "v1", 0)
			s.read("c3", 1, 20, 25, "v1", 0)
			s.write("c2", 1, 30, 40, history.TypeOK, "", "v2", 0)
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			for _, client := range []string{"c1", "c2", "c3"} {
				s.grant(client, 0, 5, 900)
			}
			test.tell(s)
			require.Equal(t, test.want, s.history(t, 1000).LostUpdates("k1"))
			require.Empty(t, s.history(t, 1000).LostUpdates("k2"))
		})
	}
}

// An outcome need not repeat its invoke, and IDs may have gaps.
func TestOutcome_MayOmitInvokeFields(t *testing.T) {
	tell := func(repeated bool, first int) Verdict {
		s := newStory()
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

// An outcome may have fields that its invoke lacks. Fields that only the invoke has stay.
func TestOutcome_MayAddFields(t *testing.T) {
	s := newStory()
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
