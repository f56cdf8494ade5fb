package main

import (
	"strings"
	"time"

	"example.com/league"
)

// evidence has the count of each cross on real servers, from the run with most decided trials: a busy machine decides
// few, and earlier evidence stays. It is in the repository, by the lock's test and then by the confirming scenarios.
type evidence map[string]map[string]seen

// seen is how many of the decided trials showed a cross, and the day.
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

// best records a run's count for a finding, and returns it, or an earlier run's count if that decided more trials.
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
