package checker

import (
	"cmp"
	"fmt"
	"slices"
)

// Property declares one property, in the file of its judge. The reports, the loader of scenarios and the trials know
// none by name.
type Property struct {
	Name    string // as in scenario files and results
	Meaning string // what it requires
	// Place orders the properties in output, lowest first.
	Place int

	// Brief describes a violation in a few words, for pictures; a violation lasts for length. nil: no words are shorter
	// than "violated".
	Brief func(v Violation, length string) string

	// Timed: it bounds how long something takes. On real servers an overloaded machine can break such a bound instead
	// of the lock.
	Timed bool
	// Keys: the owners of keys on the nodes may excuse a wait.
	Keys bool
	// Tokens: it is about fencing tokens, and does not apply to a lock that issues none.
	Tokens bool
	// Writes is how many acknowledged writes at the store a scenario that expects this property must make, unless it
	// says otherwise. Without any write, "holds" would mean nothing.
	Writes int

	judge func(*record) (Result, error)
}

var properties []Property

// declare registers a property.
func declare(p Property) Property {
	if _, known := Find(p.Name); known {
		panic(fmt.Sprintf("the property %s is declared twice", p.Name))
	}
	properties = append(slices.Clip(properties), p)
	slices.SortStableFunc(properties, func(a, b Property) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Name, b.Name))
	})
	return p
}

// Properties returns all properties in display order.
func Properties() []Property { return slices.Clone(properties) }

// Names returns the properties' names in display order.
func Names() []string {
	names := make([]string, len(properties))
	for i, p := range properties {
		names[i] = p.Name
	}
	return names
}

// Find returns the property with that name; false: none.
func Find(name string) (Property, bool) {
	i := slices.IndexFunc(properties, func(p Property) bool { return p.Name == name })
	if i < 0 {
		return Property{Name: name}, false
	}
	return properties[i], true
}
