package scenarios

import (
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/redlock"
)

// lockNames lists the locks under test.
func lockNames() []string { return locks.Names() }

// lockHasRules reports whether a lock has rules that can be switched off.
func lockHasRules(name string) bool {
	kind, err := locks.Find(name)
	return err == nil && kind.Rules
}

// ruleNames lists the rules of the reference lock.
func ruleNames() []string {
	var names []string
	for _, info := range redlock.Rules() {
		names = append(names, string(info.Rule))
	}
	return names
}
