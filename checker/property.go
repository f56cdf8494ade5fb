package checker

import (
	"cmp"
	"fmt"
	"slices"
)

// Property declares one property. All that anybody asks about it stands in the file of
// what judges it: the reports, the loader of scenarios and the trials know none by name.
type Property struct {
	Name    string // as scenario files and results have it
	Meaning string // it holds when this is so
	// Place is where it is shown: before those of higher places.
	Place int

	// Brief says in a few words what is wrong, where a picture has no room for more; a
	// violation lasts for length. nil where no words are shorter than "violated".
	Brief func(v Violation, length string) string

	// Timed: it bounds how long something takes. On real servers a machine that does too
	// much at a time can break such a bound in the lock's place.
	Timed bool
	// Keys: who waits is excused by whose the keys on the nodes were.
	Keys bool
	// Tokens: it is about fencing tokens, and a lock that issues none has no part in it.
	Tokens bool
	// Writes is how many acknowledged writes at the store a run is to make that expects
	// something of it, if the scenario does not say. Without any, it holds in vain.
	Writes int

	judge func(a *analysis, second oracles) (Result, error)
}

var properties []Property

// declare adds a property to those that there are.
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

// Properties lists them in the order in which they are shown.
func Properties() []Property { return slices.Clone(properties) }

// Names gives the properties' names, in the order in which they are shown.
func Names() []string {
	names := make([]string, len(properties))
	for i, p := range properties {
		names[i] = p.Name
	}
	return names
}

// Find gives the property of that name, false if there is none.
func Find(name string) (Property, bool) {
	i := slices.IndexFunc(properties, func(p Property) bool { return p.Name == name })
	if i < 0 {
		return Property{Name: name}, false
	}
	return properties[i], true
}
