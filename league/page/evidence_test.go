package main

import (
	"path/filepath"
	"testing"
	"time"

	"example.com/league"
)

var late = league.Finding{Confirm: []string{"scenarios/told-too-late.yaml", "late-set"}}

// A run with fewer decided trials, on a busy machine for example, changes nothing; one with as many replaces the count,
// even by a lower one.
func TestEvidence_FewerDecidedTrials_ChangeNothing(t *testing.T) {
	today := time.Now().UTC().Format(time.DateOnly)
	before := seen{10, 10, "2026-11-23"}
	for _, c := range []struct {
		name     string
		real, of int
		want     seen
	}{
		{"nothing could be judged", 0, 0, before},
		{"fewer could be judged", 3, 9, before},
		{"as many, and it showed in none", 0, 10, seen{0, 10, today}},
		{"more", 12, 13, seen{12, 13, today}},
	} {
		t.Run(c.name, func(t *testing.T) {
			known := evidence{"lock": {"told-too-late+late-set": before}}
			if got := known.best("lock", late, c.real, c.of); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if got := known["lock"]["told-too-late+late-set"]; got != c.want {
				t.Errorf("%v is kept, and not %v", got, c.want)
			}
		})
	}
}

func TestEvidence_WrittenAndRead_IsEqual(t *testing.T) {
	path := filepath.Join(t.TempDir(), "evidence.json")
	known, err := read[evidence](path)
	if err != nil || len(known) != 0 {
		t.Fatalf("none yet: %v, %v", known, err)
	}
	want := known.best("lock", late, 7, 8)
	if err := save(path, known); err != nil {
		t.Fatal(err)
	}
	again, err := read[evidence](path)
	if got := again["lock"][confirms(late)]; err != nil || got != want {
		t.Errorf("read %v, %v; written %v", got, err, want)
	}
}

// A renamed test or scenario would lose its evidence.
func TestEvidence_NamesOnlyExistingCrosses(t *testing.T) {
	known, err := read[evidence](filepath.Join("..", evidenceFile))
	if err != nil || len(known) == 0 {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, l := range league.All() {
		for _, f := range l.Findings {
			there[l.Test+"/"+confirms(f)] = true
			if f.Short == "" || f.What == "" || f.Place == "" || f.Reply == "" {
				t.Errorf("%s, %s: a cross says what a user sees, its place in the code, and what its author may reply", l.Test,
					f.What)
			}
		}
		if l.Unjudged == "" && l.Belief == "" {
			t.Errorf("%s does not say how it is believed", l.Test)
		}
	}
	for test, of := range known {
		for name, s := range of {
			if !there[test+"/"+name] {
				t.Errorf("evidence of %s, %s, which is no cross", test, name)
			}
			if s.Real > s.Of || s.Of == 0 || s.Day == "" {
				t.Errorf("%s, %s: %+v", test, name, s)
			}
		}
	}
}
