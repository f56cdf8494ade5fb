package suite

import (
	"fmt"
	"strings"

	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/trial"
	"example.org/lockproof/scenarios"
)

// Job is one row of a suite.
type Job = trial.Job

// Jobs lists the rows to run: every scenario with all its variants. If the options name a lock, rules to switch off
// or a number of servers, it lists every scenario without variants, with these, in its form for that number of
// servers. It fails on an unknown lock or rule.
func (o Options) Jobs(list []*scenarios.Scenario) ([]Job, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.Lock == "" {
		if err := o.checkRulesOfAny(list); err != nil {
			return nil, err
		}
	}
	var jobs []Job
	for _, s := range list {
		if o.Lock != "" || len(o.Without) > 0 || o.Nodes > 0 {
			j := Job{Scenario: s, Variant: o.singleNodeVariant(s), AllowBetter: true, Lock: o.Lock, Without: o.Without}
			jobs = append(jobs, o.onNodes(j))
			continue
		}
		jobs = append(jobs, Job{Scenario: s})
		for _, v := range s.Variants {
			if v.Name == s.OneNode() {
				continue // for locks on one node
			}
			jobs = append(jobs, Job{Scenario: s, Variant: v.Name})
		}
	}
	return jobs, nil
}

// onNodes is the row on the requested number of servers, or else on the lock's.
func (o Options) onNodes(j Job) Job {
	number := o.Nodes
	if kind, err := locks.Find(o.Lock); number == 0 && err == nil {
		number = kind.Servers
	}
	none := fmt.Sprintf("the situation needs %s, and has no form on %d", servers(len(j.Scenario.Nodes)), number)
	if o.Nodes == 1 && len(j.Scenario.Nodes) > 1 && j.Variant == "" {
		j.Unfit = none
	}
	if number < 2 || number == len(j.Scenario.Nodes) {
		return j
	}
	switch form := j.Scenario.OnNodes(number); {
	case form == nil:
		j.Unfit = none
	case form != j.Scenario:
		j.Mapped, j.Scenario = j.Scenario, form
	}
	return j
}

func servers(n int) string {
	if n == 1 {
		return "one server alone"
	}
	return fmt.Sprintf("%d servers", n)
}

// singleNodeVariant names the scenario's form for one node if the lock needs it.
func (o Options) singleNodeVariant(s *scenarios.Scenario) string {
	k, err := locks.Find(o.Lock)
	if one := err == nil && k.SingleNode || o.Nodes == 1; !one || len(s.Nodes) == 1 {
		return ""
	}
	return s.OneNode()
}

// folderOf is the folder of a row's trials, unique in a suite. It depends on the scenario alone, so that it is the
// same in every run and slice: the second variant with the same slug gets the suffix ~2, which no slug has.
func folderOf(j Job) string {
	if j.Variant == "" {
		return j.Scenario.Name
	}
	slug, alike := Slug(j.Variant), 0
	for _, v := range j.Scenario.Variants {
		if Slug(v.Name) == slug {
			alike++
		}
		if v.Name == j.Variant {
			break
		}
	}
	if alike > 1 {
		slug = fmt.Sprintf("%s~%d", slug, alike)
	}
	return j.Scenario.Name + "--" + slug
}

// Slug turns a name into a part of a path or link: lower-case letters, digits and hyphens.
func Slug(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name), "-")
}
