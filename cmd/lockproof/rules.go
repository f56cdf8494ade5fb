package main

import (
	"slices"
	"strings"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/redlock"
)

// ruleNames are the rules of the reference lock that --without switches off.
func ruleNames() []string {
	var names []string
	for _, info := range redlock.Rules() {
		names = append(names, string(info.Rule))
	}
	return names
}

func checkRules(o *suite.Options) error {
	names := ruleNames()
	var distinct []string
	for _, rule := range o.Without {
		rule = strings.TrimSpace(rule)
		if err := oneOf("without", rule, "rule", names); err != nil {
			return err
		}
		if !slices.Contains(distinct, rule) {
			distinct = append(distinct, rule)
		}
	}
	o.Without = distinct
	return nil
}
