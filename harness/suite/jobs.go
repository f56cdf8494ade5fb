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

// Jobs lists the rows that are to be run: every scenario with all its variants;
// or, when another lock, fewer rules or a number of servers are asked for, every scenario as it
// stands with these, in its form for so many servers. It fails on a lock or a rule that does not exist.
func (o Options) Jobs(list []*scenarios.Scenario) ([]Job, error) {
	if _, err := o.validate(); err != nil {
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
				continue // it is for other locks
			}
			jobs = append(jobs, Job{Scenario: s, Variant: v.Name})
		}
	}
	return jobs, nil
}

// onNodes is the row on as many servers as are asked for, or as the lock has.
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

// singleNodeVariant is the variant in which the lock is to run a scenario: as it stands, but for
// locks on one node, where it has a form for these.
func (o Options) singleNodeVariant(s *scenarios.Scenario) string {
	k, err := locks.Find(o.Lock)
	if one := err == nil && k.SingleNode || o.Nodes == 1; !one || len(s.Nodes) == 1 {
		return ""
	}
	return s.OneNode()
}

// folderOf is the name of the folder that has a row's trials, which no other row
// of a suite has. It follows from the scenario alone, so that it is the same in
// every run and slice: of variants whose slugs are alike, the second in the file
// ends in ~2, which no slug does.
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

// Slug makes of a name what can be a part of a path or of a link: letters and
// digits in lower case, and hyphens.
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
