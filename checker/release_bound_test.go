package checker

import (
	"testing"

	"example.org/lockproof/harness/history"
)

func TestReleaseBound(t *testing.T) {
	all := []string{"n1", "n2", "n3", "n4", "n5"}
	releases := func(s *story, done int64) {
		s.deletes(105, "c1", "c1.1", all...)
		s.release("c1", 1, 100, done, history.TypeOK)
	}
	takesAnew := func(s *story, client string) {
		s.sets(125, client, "c1.1", 3000, all...)
		s.op(120, 130, history.TypeOK, history.Event{Process: client, Op: history.OpAcquire, Key: "k1", Token: "c1.1",
			Validity: 1000 * ms})
	}
	requireVerdicts(t, FaultTolerance, []storyCase{
		{"within the bound", func(s *story) { releases(s, 600) }, history.Holds, ""},
		{"later", func(s *story) { releases(s, 601) }, history.Violated, ""},
		{"its client was killed", func(s *story) {
			s.release("c1", 1, 100, 0, "")
			s.instant(200, "kill", "c1")
		}, history.Inconclusive, ""},
		{"its client takes it anew, with another token", func(s *story) {
			releases(s, 110)
			s.sets(125, "c1", "c1.1", 3000, all...)
			s.grant("c1", 120, 130, 1000)
		}, history.Violated, ""},
		{"its client takes it anew, with the one token that its lock has", func(s *story) {
			releases(s, 110)
			takesAnew(s, "c1")
		}, history.Holds, ""},
		{"another client takes it, with the one token that all clients have", func(s *story) {
			releases(s, 110)
			takesAnew(s, "c2")
		}, history.Holds, ""},
		{"its client was paused", func(s *story) {
			s.lasting(150, 900, "pause", "c1")
			s.release("c1", 1, 100, 1000, history.TypeOK)
		}, history.Holds, ""},
		{"a majority was cut off", func(s *story) {
			s.lasting(90, 900, "cut", "c1-n1", "c1-n2", "c1-n3")
			s.release("c1", 1, 100, 1000, history.TypeFail)
		}, history.Holds, ""},
		{"a minority was, which keeps the key", func(s *story) {
			s.lasting(90, 900, "cut", "c1-n1", "c1-n2")
			s.deletes(105, "c1", "c1.1", "n3", "n4", "n5")
			s.release("c1", 1, 100, 150, history.TypeFail)
		}, history.Holds, ""},
		{"without effect", func(s *story) { s.release("c1", 1, 100, 110, history.TypeOK) }, history.Violated, ""},
		{"with deletes that nobody answered", func(s *story) {
			s.release("c1", 1, 100, 110, history.TypeOK)
			s.unanswered(105, "c1", all...)
		}, history.Inconclusive, `unknown: c1 released "k1" and may have left its key on n1, n2`},
		{"with deletes that nobody answered, before the keys were seen again", func(s *story) {
			s.release("c1", 1, 100, 110, history.TypeOK)
			s.unanswered(105, "c1", all...)
			s.refused(700, "c2", "c2.1", "c1.1", all...)
		}, history.Violated, ""},
		{"with an effect that comes late", func(s *story) {
			s.release("c1", 1, 100, 110, history.TypeOK)
			s.deletes(601, "c1", "c1.1", all...)
		}, history.Violated, ""},
		{"each node that keeps the key was cut off for a while", func(s *story) {
			s.deletes(105, "c1", "c1.1", "n4", "n5")
			s.release("c1", 1, 100, 110, history.TypeOK)
			s.lasting(110, 120, "cut", "c1-n1")
			s.lasting(130, 140, "cut", "c1-n2")
			s.lasting(150, 160, "cut", "c1-n3")
		}, history.Holds, ""},
		{"the key is set again as it should be gone", func(s *story) {
			releases(s, 110)
			s.sets(600, "c1", "c1.1", 1000, all...)
		}, history.Violated, ""},
		{"the key is set again, and given back within the bound of that", func(s *story) {
			releases(s, 110)
			s.sets(600, "c1", "c1.1", 1000, all...)
			s.deletes(1100, "c1", "c1.1", all...)
		}, history.Holds, ""},
		{"the history ends before the bound",
			func(s *story) { s.release("c1", 1, 1600, 1610, history.TypeOK) }, history.Holds, ""},
		{"no bound", func(s *story) {
			s.header.Bounds.Release = 0
			s.release("c1", 1, 100, 1000, history.TypeOK)
		}, history.Holds, ""},
	}, func(s *story) {
		s.header.Bounds.Release = 500 * ms
		s.sets(5, "c1", "c1.1", 3000, all...)
		s.grant("c1", 0, 10, 2900)
		s.add(2000, history.Event{Type: history.TypeNote})
	})
}

// unanswered are deletes of c1.1 that reach nodes, and whose replies are lost.
func (s *story) unanswered(t int64, client string, nodes ...string) {
	for _, node := range nodes {
		s.command(t, client+">"+node, history.Command{Name: "EVAL", Key: "k1", Token: "c1.1",
			Effect: history.EffectDelete})
	}
}
