package history

import "strings"

// StoreName is the process name of the store that the lock guards.
const StoreName = "store"

// Link connects a client, a replica or the Sentinels to a server. Its name is c1-n2 as a target of faults and steps,
// and c1>n2 as the process of its messages.
type Link struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// LinkOf parses the target of a fault or a step; false if it is not a link.
func LinkOf(target string) (l Link, ok bool) {
	if l.From, l.To, ok = strings.Cut(target, "-"); !ok {
		return Link{}, false
	}
	return l, true
}

// Link is the link of the event's command or reply; false if it has none.
func (e *Event) Link() (l Link, ok bool) {
	if l.From, l.To, ok = strings.Cut(e.Process, ">"); !ok {
		return Link{}, false
	}
	return l, true
}

// Target is the link's name in faults and steps.
func (l Link) Target() string { return l.From + "-" + l.To }

// Process is the link's name in events.
func (l Link) Process() string { return l.From + ">" + l.To }
