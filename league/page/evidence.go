package main

import (
	"strings"
	"time"

	"example.com/league"
)

// evidence is how often each cross was seen on real servers, in the run that could judge
// most trials of it: a machine that is busy judges few, and what was seen stays seen. It is
// in the repository, by the lock's test and then by the scenarios that confirm.
type evidence map[string]map[string]seen

// seen is how many of the trials that decided showed a cross, and on which day.
type seen struct {
	Real int    `json:"real"`
	Of   int    `json:"of"`
	Day  string `json:"day"`
}

// confirms names a finding in the evidence.
func confirms(f league.Finding) string {
	var names []string
	for _, file := range f.Confirm {
		names = append(names, scenario(file))
	}
	return strings.Join(names, "+")
}

// best takes what a run has seen of a finding, and gives what there is to be said of it: that, or
// what an earlier run saw, if it could judge more.
func (v evidence) best(test string, f league.Finding, real, of int) seen {
	name := confirms(f)
	if name == "" {
		return seen{}
	}
	if old := v[test][name]; old.Of > of {
		return old
	}
	now := seen{real, of, time.Now().UTC().Format(time.DateOnly)}
	if of > 0 {
		if v[test] == nil {
			v[test] = map[string]seen{}
		}
		v[test][name] = now
	}
	return now
}
