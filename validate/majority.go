package validate

import (
	"fmt"

	"lockproof/checker"
	"lockproof/harness/history"
	"lockproof/harness/suite"
	"lockproof/nemesis"
	"lockproof/scenarios"
)

// majority makes a trial in which n1, n2 and n3 go down at once while the lock
// is free, and c2 waits for it until they are back.
func (p Point) majority(drift float64) (suite.Job, error) {
	base, err := row()
	if err != nil {
		return suite.Job{}, err
	}
	s := *base
	s.Name = fmt.Sprintf("majority-%s-%s-back-after-%s", p.Persistence, p.Crash, p.Delay)
	s.TTL, s.Persistence = p.TTL, p.Persistence
	s.Clients = []scenarios.Client{{Name: "c1"}, {Name: "c2"}}
	s.Lock = scenarios.Lock{Drift: &drift}
	s.Expect = map[string]string{checker.MutualExclusion: history.Holds}
	s.Script = []scenarios.Step{
		{Verb: scenarios.VerbAcquire, Targets: []string{"c1"}, Key: lockKey, Must: "ok"},
		{Verb: scenarios.VerbRelease, Targets: []string{"c1"}, Must: "ok"},
		{Verb: scenarios.Verb(p.Crash), Targets: []string{"n1", "n2", "n3"}},
		{Verb: scenarios.VerbAcquire, Targets: []string{"c2"}, Key: lockKey, Async: true, Must: "ok",
			Within: scenarios.Span{TTLs: 3, Fixed: p.Delay}},
	}
	if p.Delay > 0 {
		s.Script = append(s.Script, wait(p.Delay))
	}
	s.Script = append(s.Script,
		scenarios.Step{Verb: nemesis.Start, Targets: []string{"n1", "n2", "n3"}},
		scenarios.Step{Verb: scenarios.VerbAwait, Targets: []string{"c2"}, Must: "ok"})
	return suite.Job{Scenario: &s}, nil
}

// catalogueJob is a scenario of the catalogue as it stands.
func catalogueJob(name string) (suite.Job, error) {
	found, err := scenarios.Select([]string{name})
	if err != nil {
		return suite.Job{}, err
	}
	return suite.Job{Scenario: found[0]}, nil
}
