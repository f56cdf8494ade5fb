package explore

import (
	"fmt"
	"slices"
	"strings"
)

// Assumption is a condition that Redlock relies on and cannot check. A schedule keeps every assumption that its search
// does not break.
type Assumption string

// The assumptions, in the order of Assumptions.
const (
	Memory  Assumption = "memory"
	Clocks  Assumption = "clocks"
	Pauses  Assumption = "pauses"
	Servers Assumption = "servers"
)

// AssumptionInfo is an assumption and its text.
type AssumptionInfo struct {
	Assumption Assumption
	Says       string
}

var assumptions = []AssumptionInfo{
	{Memory, "a node remembers every key that it has acknowledged until the key expires"},
	{Clocks, "clocks run at one rate but for the drift factor, and those of the nodes do not jump"},
	{Pauses, "the holder stops working when its lease is over, however long it was paused"},
	{Servers, "the servers that a client lists are different ones"},
}

// Assumptions lists them.
func Assumptions() []AssumptionInfo { return slices.Clone(assumptions) }

// ParseAssumption reads the name of an assumption.
func ParseAssumption(name string) (Assumption, error) {
	var names []string
	for _, a := range assumptions {
		if string(a.Assumption) == name {
			return a.Assumption, nil
		}
		names = append(names, string(a.Assumption))
	}
	return "", fmt.Errorf("there is no assumption %q: there are %s", name, strings.Join(names, ", "))
}
