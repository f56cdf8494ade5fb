package explore

import "slices"

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
	{Clocks, "clocks differ in rate by at most the drift factor, and the nodes' clocks do not jump"},
	{Pauses, "the holder stops working when its lease ends, even if it was paused"},
	{Servers, "a client's list names no server twice"},
}

// Assumptions lists them.
func Assumptions() []AssumptionInfo { return slices.Clone(assumptions) }

// AssumptionNames lists their names.
func AssumptionNames() []string {
	names := make([]string, len(assumptions))
	for i, a := range assumptions {
		names[i] = string(a.Assumption)
	}
	return names
}
