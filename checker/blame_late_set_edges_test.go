package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
)

// expiring gives the SETs with a token an expiry.
func (s *story) expiring(token string, expiry int64) {
	for _, e := range s.events {
		if e.Command != nil && e.Command.Effect == history.EffectSet && e.Command.Token == token {
			e.Command.Expiry = expiry * ms
		}
	}
}

// A late SET's key counts from its arrival to its expiry, 2 ms later at most, and where nobody else had the key.
func TestAKeyOfALateSetToTheMoment(t *testing.T) {
	three := []string{"n1", "n2", "n3"}
	late := func(s *story) { s.lateSets(three...) }
	unnamed := func(s *story) { s.refuse(100, 2900, three...) }
	named := func(at int64) func(*story) {
		return func(s *story) { s.refused(at, "c2", "c2.1", "t1", three...) }
	}
	rival := func(from, until int64, nodes ...string) func(*story) {
		return func(s *story) {
			s.sets(from, "c3", "t3", 1000, nodes...)
			s.deletes(until, "c3", "t3", nodes...)
		}
	}
	expiring := func(token string, expiry int64) func(*story) { return func(s *story) { s.expiring(token, expiry) } }
	refusedBefore := func(s *story) { s.refused(6, "c3", "t3", "nil", three...) }
	tests := []struct {
		name  string
		tell  []func(*story)
		broke string
	}{
		{"there until most of the wait was over", []func(*story){late, unnamed, expiring("t1", 1684)}, "ReleaseAfterSet"},
		{"a moment less", []func(*story){late, unnamed, expiring("t1", 1683)}, Unexplained},
		{"there as the wait began", []func(*story){late, named(20), expiring("t1", 3)}, "ReleaseAfterSet"},
		{"there until just before", []func(*story){late, named(20), expiring("t1", 2)}, Unexplained},
		{"come as the wait ended", []func(*story){func(s *story) {
			for _, node := range three {
				s.silent(3000, "c1", "t1", node)
			}
		}, named(3000)}, "ReleaseAfterSet"},
		{"come to a node that had just been another's", []func(*story){rival(6, 15, three...), late, unnamed}, "ReleaseAfterSet"},
		{"come to a node that was another's a moment longer", []func(*story){rival(6, 16, three...), late, unnamed}, Unexplained},
		{"come to a node that had just become another's", []func(*story){rival(15, 16, three...), late, unnamed}, Unexplained},
		{"come while other nodes were another's", []func(*story){rival(6, 16, "n4", "n5"), late, unnamed}, "ReleaseAfterSet"},
		{"come as what others were refused by had expired", []func(*story){refusedBefore, expiring("t3", 7), late, unnamed}, "ReleaseAfterSet"},
		{"come a moment before", []func(*story){refusedBefore, expiring("t3", 8), late, unnamed}, Unexplained},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := tale()
			s.deletes(5, "c1", "t1", three...)
			s.attempt("c1", 0, 10, history.TypeFail)
			for _, tell := range test.tell {
				tell(s)
			}
			s.attempt("c2", 20, 3000, history.TypeFail)
			s.requireWaitBlamedOn(t, test.broke)
		})
	}
}

// A release that came while the key still kept somebody out was tried; one that came later was not missed by anybody.
func TestAReleaseOfALateSetIsTriedToTheLastRefusal(t *testing.T) {
	for released, broke := range map[int64]string{2700: Unexplained, 2701: "ReleaseEverywhere"} {
		s := tale()
		s.attempt("c1", 0, 10, history.TypeFail)
		s.lateSets("n1", "n2", "n3")
		s.refuse(100, 2900, "n1", "n2", "n3")
		s.deletes(released, "c1", "t1", "n1", "n2", "n3")
		s.attempt("c2", 20, 3000, history.TypeFail)
		s.requireWaitBlamedOn(t, broke)
	}
}

// requireWaitBlamedOn compares what the first wait in vain is blamed on.
func (s *story) requireWaitBlamedOn(t *testing.T, broke string) {
	t.Helper()
	r := s.judged(t, DeadlockFreedom)
	require.NotEmpty(t, r.Violations, r.Reason)
	require.Equal(t, broke, r.Violations[0].Blame.Broke, r.Violations[0].Blame.Why)
}
