package explore

// Assumption is a condition that Redlock relies on and cannot check. A schedule keeps every assumption that its search
// does not break.
type Assumption string

// The assumptions.
const (
	Memory  Assumption = "memory"
	Clocks  Assumption = "clocks"
	Pauses  Assumption = "pauses"
	Servers Assumption = "servers"
)

// Assumptions lists them with their texts.
var Assumptions = []struct {
	Assumption Assumption
	Says       string
}{
	{Memory, "a node remembers every key that it has acknowledged until the key expires"},
	{Clocks, "clocks differ in rate by at most the drift factor, and the nodes' clocks do not jump"},
	{Pauses, "the holder stops working when its lease ends, even if it was paused"},
	{Servers, "a client's list names no server twice"},
}

// AssumptionNames lists their names.
func AssumptionNames() (names []string) {
	for _, a := range Assumptions {
		names = append(names, string(a.Assumption))
	}
	return names
}
