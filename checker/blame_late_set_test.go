package checker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
)

// lateSets are SETs of c1 that reach nodes after its attempt has ended, and of which no answer
// tells; refuse are c2's attempts that these nodes refuse without a word about whose the key is.
func (s *story) lateSets(nodes ...string) {
	for _, node := range nodes {
		s.silent(15, "c1", "t1", node)
	}
}

func (s *story) refuse(from, until int64, nodes ...string) {
	for t := from; t < until; t += 200 {
		s.refused(t, "c2", "t2", "nil", nodes...)
	}
}

// A key that nobody was told of having set is shown by what the nodes were sent and answered,
// whether they name its token or not; where a premise is not so, nobody is blamed for it.
func TestBlameOfAKeyOfALateSet(t *testing.T) {
	three := []string{"n1", "n2", "n3"}
	released := func(s *story) { s.deletes(5, "c1", "t1", three...) }
	failed := func(s *story) { s.attempt("c1", 0, 10, history.TypeFail) }
	late := func(s *story) { s.lateSets(three...) }
	refused := func(s *story) { s.refuse(100, 2900, three...) }
	tests := []struct {
		name  string
		tell  []func(*story)
		broke string
	}{
		{"after its release", []func(*story){released, failed, late, refused}, "ReleaseAfterSet"},
		{"after a release by a plain DEL", []func(*story){func(s *story) { s.deletes(5, "c1", "", three...) }, failed, late, refused},
			"ReleaseAfterSet"},
		{"of a key that never expires", []func(*story){released, failed, late, refused, func(s *story) {
			for _, e := range s.events {
				if e.Command != nil && e.Command.Token == "t1" {
					e.Command.Expiry = 0
				}
			}
		}}, "ReleaseAfterSet"},
		{"but it expired soon", []func(*story){released, failed, late, refused, func(s *story) {
			for _, e := range s.events {
				if e.Command != nil && e.Command.Token == "t1" {
					e.Command.Expiry = 500 * ms
				}
			}
		}}, Unexplained},
		{"without a release", []func(*story){failed, late, refused}, "ReleaseEverywhere"},
		{"without a release that can arrive", []func(*story){failed, late, refused, func(s *story) {
			s.lasting(20, 5000, "cut", "c1-n1")
		}}, ReleaseArrives},
		{"what held the SET up is no reason to give nothing back", []func(*story){failed, late, refused, func(s *story) {
			s.lasting(12, 16, "cut", "c1-n1")
		}}, "ReleaseEverywhere"},
		{"beside nodes that the setting keeps away", []func(*story){released, failed, func(s *story) {
			s.lateSets("n3")
			s.refuse(100, 2900, "n3")
			s.farSent("c2-n1")
			s.farSent("c2-n2")
		}}, "ReleaseAfterSet"},
		{"but it was on too few nodes", []func(*story){released, failed, func(s *story) {
			s.lateSets("n1", "n2")
			s.refuse(100, 2900, "n1", "n2")
		}}, Unexplained},
		{"but there was no SET", []func(*story){released, failed, refused}, Unexplained},
		{"but the SET was answered", []func(*story){released, failed, refused, func(s *story) {
			s.refused(15, "c1", "t1", "nil", three...)
		}}, Unexplained},
		{"but nobody was refused", []func(*story){released, failed, late}, Unexplained},
		{"but for a part of the wait only", []func(*story){released, failed, late, func(s *story) {
			s.refuse(100, 1300, three...)
		}}, Unexplained},
		{"but the nodes had refused others before", []func(*story){released, failed, late, refused, func(s *story) {
			s.refused(3, "c3", "t3", "nil", three...)
		}}, Unexplained},
		{"although another was deleted", []func(*story){released, failed, late, refused, func(s *story) {
			s.deletes(300, "c3", "t9", three...)
		}}, "ReleaseAfterSet"},
		{"although other nodes had refused others before", []func(*story){released, failed, late, refused, func(s *story) {
			s.refused(3, "c3", "t3", "nil", "n4", "n5")
		}}, "ReleaseAfterSet"},
		{"of a client that stood still", []func(*story){failed, late, refused, func(s *story) {
			s.lasting(20, 5000, "pause", "c1")
		}}, ReleaseArrives},
		{"of which a fault held nothing up for longer than 2 ms", []func(*story){failed, late, refused, func(s *story) {
			s.lasting(12, 17, "cut", "c1-n1")
		}}, "ReleaseEverywhere"},
		{"of which a fault held a release up for longer", []func(*story){failed, late, refused, func(s *story) {
			s.lasting(12, 18, "cut", "c1-n1")
		}}, ReleaseArrives},
		{"but it was deleted by a plain DEL", []func(*story){released, failed, late, refused, func(s *story) {
			s.deletes(300, "c3", "", three...)
		}}, Unexplained},
		{"but it was deleted", []func(*story){released, failed, late, refused, func(s *story) {
			s.deletes(300, "c3", "t1", three...)
		}}, Unexplained},
		{"but its client's attempt was under way", []func(*story){late, refused, func(s *story) {
			s.attempt("c1", 0, 5000, history.TypeFail)
		}}, Unexplained},
		{"but its client asked for something else", []func(*story){failed, late, refused, func(s *story) {
			s.attempt("c1", 40, 5000, history.TypeFail)
		}}, Unexplained},
		{"but it was the waiting client's own", []func(*story){released, failed, refused, func(s *story) {
			for _, node := range three {
				s.silent(25, "c2", "t1", node)
			}
		}}, Unexplained},
		{"but of another key", []func(*story){released, failed, late, refused, func(s *story) {
			for _, e := range s.events {
				if e.Command != nil && e.Command.Token == "t1" {
					e.Command.Key = "k2"
				}
			}
		}}, Unexplained},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := tale()
			for _, tell := range test.tell {
				tell(s)
			}
			s.attempt("c2", 20, 3000, history.TypeFail)
			r := s.judged(t, DeadlockFreedom)
			require.NotEmpty(t, r.Violations, r.Reason)
			require.Equal(t, test.broke, r.Violations[0].Blame.Broke, r.Violations[0].Blame.Why)
		})
	}
}

func TestABlameOfALateSetRestsOnWhatItCites(t *testing.T) {
	for name, tell := range map[string]func(*story){
		"ReleaseAfterSet": func(s *story) { s.deletes(5, "c1", "t1", "n1", "n2", "n3") }, "ReleaseEverywhere": func(*story) {},
	} {
		t.Run(name, func(t *testing.T) {
			s := tale()
			tell(s)
			s.attempt("c1", 0, 10, history.TypeFail)
			s.lateSets("n1", "n2", "n3")
			s.refuse(100, 2900, "n1", "n2", "n3")
			s.attempt("c2", 20, 3000, history.TypeFail)
			require.Equal(t, name, s.judged(t, DeadlockFreedom).Violations[0].Blame.Broke)
			s.requirePremises(t, DeadlockFreedom)
		})
	}
}
