package reports

import (
	"fmt"
	"slices"
	"time"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// importanceOf is essential for a lease of the violation.
func (t *storyBuilder) importanceOf(e history.Event) int {
	if t.violation == nil {
		return detail
	}
	for _, l := range t.violation.Leases {
		if l.Client == e.Process && l.ID == e.ID {
			return essential
		}
	}
	if slices.Contains(t.violation.Processes, e.Process) {
		return detail
	}
	return minor
}

func (t *storyBuilder) addGrant(i int, e, invoke history.Event) {
	text := fmt.Sprintf("%s is granted the lock%s", e.Process, t.acquiredNodes(e, invoke))
	for _, l := range t.leases {
		if l.Client != e.Process || l.ID != e.ID || l.From != e.Time {
			continue
		}
		text += "; lease valid " + t.validityText(l, e)
		if l.Fence > 0 {
			text += fmt.Sprintf(", with fencing token %d", l.Fence)
		}
		if other, until := t.overlappingHolder(l); other != "" {
			text += fmt.Sprintf("; but %s still holds it: %s", other, overlapText(until-l.From))
		}
	}
	t.add(i, e, t.importanceOf(e), "%s", text)
}

// validityText says how long the client relies on a new lease. If the lease was extended or ended early, the history
// does not contain the end of the first validity.
func (t *storyBuilder) validityText(l checker.Lease, grant history.Event) string {
	extended := slices.ContainsFunc(t.Events, func(e history.Event) bool {
		return e.Op == history.OpExtend && e.Type == history.TypeOK && e.Process == l.Client && e.Lease == l.ID
	})
	if time.Duration(grant.Validity) >= withoutEnd {
		return "until it is released (its own view)"
	}
	if l.Ended == checker.EndedDeadline && !extended {
		return "until " + Moment(l.Until) + " (its own view)"
	}
	return "for " + timeText(grant.Validity) + " (by its own clock)"
}

// overlappingHolder names another holder of the key at the start of a lease, and the end of the overlap.
func (t *storyBuilder) overlappingHolder(l checker.Lease) (other string, until int64) {
	for _, o := range t.leases {
		if o.Key == l.Key && (o.Client != l.Client || o.ID != l.ID) && o.From <= l.From && o.Until > l.From &&
			min(o.Until, l.Until) > until {
			other, until = o.Client, min(o.Until, l.Until)
		}
	}
	return other, until
}

// acquiredNodes names the nodes that granted an acquire their keys before its outcome.
func (t *storyBuilder) acquiredNodes(e, invoke history.Event) string {
	var nodes []string
	for _, owned := range t.ownerships {
		if owned.Key == e.Key && owned.Owner == e.Process && owned.From >= invoke.Time && owned.From <= e.Time &&
			(e.Token == "" || owned.Token == e.Token) && !slices.Contains(nodes, owned.Node) {
			nodes = append(nodes, owned.Node)
		}
	}
	slices.Sort(nodes)
	switch {
	case len(nodes) > 0 && e.Type == history.TypeOK:
		return " by " + list(nodes)
	case len(nodes) > 0:
		return "; its key was set on " + list(nodes)
	}
	return ""
}

// failureReasons explain failed operations.
var failureReasons = map[string]string{
	history.ReasonHeld:           ": another client holds the lock",
	history.ReasonNoMajority:     ": no majority",
	history.ReasonTooLate:        ": it took too long",
	history.ReasonRefused:        ": the lock rejects its list of nodes",
	history.ReasonLost:           ": it no longer holds the lock",
	history.ReasonExtensionLimit: ": the limit of extensions is reached",
}

func (t *storyBuilder) failureText(e, invoke history.Event) string {
	switch {
	case e.Reason != history.ReasonCancelled:
		return "fails to acquire" + failureReasons[e.Reason]
	case t.cancelled(e.Process, invoke.Time, e.Time):
		return "gives up: acquire cancelled"
	}
	return "gives up: acquire timed out"
}

// cancelled reports whether a client's caller gave up in that time.
func (t *storyBuilder) cancelled(client string, from, until int64) bool {
	return slices.ContainsFunc(t.Events, func(e history.Event) bool {
		return e.Type == history.TypeCancel && e.Process == client && from <= e.Time && e.Time <= until
	})
}

func (t *storyBuilder) addExtend(i int, e history.Event) {
	extended := t.add(i, e, detail, "%s extends its lease", e.Process)
	extended.group = "extend " + e.Process
	for _, l := range t.leases {
		if l.Client != e.Process || l.ID != e.Lease || l.From != e.Time {
			continue
		}
		if other, until := t.overlappingHolder(l); other != "" {
			extended.Text += fmt.Sprintf("; but %s holds it: %s", other, overlapText(until-l.From))
			extended.importance, extended.group = essential, ""
		}
	}
}

// acknowledged reports whether a version was acknowledged before an event.
func (t *storyBuilder) acknowledged(before int, value string) bool {
	return value == "" || slices.ContainsFunc(t.Events[:before], func(e history.Event) bool {
		return e.Type == history.TypeOK && e.Op == history.OpWrite && e.Value == value
	})
}

func (t *storyBuilder) addAccess(i int, e history.Event) {
	weight := detail
	if t.violation != nil && slices.Contains(t.violation.Processes, e.Process) && e.Op == history.OpWrite {
		weight = essential
	}
	switch {
	case e.Type == history.TypeInvoke && e.Op == history.OpWrite:
		t.add(i, e, detail, "%s sends its write %s to the store, derived from %s", e.Process, e.Value,
			checker.VersionName(e.Base))
	case e.Type == history.TypeOK && e.Op == history.OpRead && e.Process == "harness":
		if !t.acknowledged(i, e.Value) {
			t.add(i, e, essential, "at the end, the store has %s", e.Value)
		}
	case e.Type == history.TypeOK, e.Type == history.TypeFail && e.Op == history.OpWrite:
		t.add(i, e, weight, "%s", t.storePoint(e).Text)
	}
}

// withoutEnd is longer than any TTL: the validity of a lock that extends itself.
const withoutEnd = 24 * time.Hour

// overlapText omits the duration if a lease has no end.
func overlapText(d int64) string {
	if time.Duration(d) >= withoutEnd {
		return "both hold the lock"
	}
	return "both hold the lock for " + timeText(d)
}
