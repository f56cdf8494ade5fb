package history

import "strings"

// StoreName is the process name of the store that the lock guards.
const StoreName = "store"

// Link joins a client, a replica or the Sentinels to a server. It is written in two ways: c1-n2
// where a fault or a step names it as its target, and c1>n2 as the process of what it carries.
type Link struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// LinkOf reads the target of a fault or a step; false if that is a process.
func LinkOf(target string) (l Link, ok bool) {
	if l.From, l.To, ok = strings.Cut(target, "-"); !ok {
		return Link{}, false
	}
	return l, true
}

// Link gives the one that carried the event's command or reply; false if none did.
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
