package checker

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// counted counts how often a source is gone through.
func counted(source Source, times *int) Source {
	return func(visit func(*history.Event) error) error {
		*times++
		return source(visit)
	}
}

func TestHistory_IsReadOnce(t *testing.T) {
	s := tale()
	id := s.grant("c1", 0, 10, 900)
	s.sets(5, "c1", "c1.1", 1000, "n1", "n2", "n3")
	s.write("c1", id, 20, 30, history.TypeOK, "", "v1", 0)
	s.instant(40, "kill", "n3")
	s.grant("c2", 50, 60, 900)
	s.write("c2", 1, 70, 80, history.TypeOK, "", "v2", 0)
	times := 0
	h, err := Read(counted(InMemory(s.end(1000)), &times))
	require.NoError(t, err)
	require.Equal(t, 2, times, "once for the clocks, and once for the keys on the nodes, which need them")
	verdict, err := h.Verdict()
	require.NoError(t, err)
	require.NotEmpty(t, verdict.Of(MutualExclusion).Violations)

	again, err := h.Verdict()
	require.NoError(t, err)
	require.Equal(t, verdict, again)
	require.Len(t, slices.Collect(h.Leases()), 2)
	require.Len(t, slices.Collect(h.Tenures()), 3)
	require.Positive(t, h.analysis.operations.longestGap().length())
	require.Len(t, h.LostUpdates("k1"), 1)
	require.Equal(t, 2, times, "what is asked of a history is answered from its reading")
}

func TestLostUpdates(t *testing.T) {
	for _, test := range []struct {
		name string
		tell func(*story)
		want []LostUpdate
	}{
		{"two from one version", func(s *story) {
			s.write("c1", 1, 10, 20, history.TypeOK, "", "v1", 0)
			s.write("c2", 1, 30, 40, history.TypeOK, "", "v2", 0)
		}, []LostUpdate{{"c1", "v1", "v2"}}},
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
			s := tale()
			for _, client := range []string{"c1", "c2", "c3"} {
				s.grant(client, 0, 5, 900)
			}
			test.tell(s)
			require.Equal(t, test.want, s.history(t, 1000).LostUpdates("k1"))
			require.Empty(t, s.history(t, 1000).LostUpdates("k2"))
		})
	}
}
