package reports

import (
	"cmp"
	"fmt"
	"slices"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// maxTurns is how many sentences a story has at most.
const maxTurns = 16

// The weights of turns: when a story is too long, the heaviest stay.
const (
	minor = iota
	detail
	essential
)

// turn is a mark on its way into the story.
type turn struct {
	Mark
	importance int
	// Turns of one group that follow each other are told as one: a fault on
	// several targets, a run of extensions.
	group    string
	together func(all []turn) string
	targets  []string
}

// turns tells what happened to the story's key, one sentence for each turn, in
// the order of time, and how many had to be left out.
func (t *teller) turns() ([]Mark, int) {
	t.ends()
	t.facts()
	t.turning()
	// What time alone did at the instant of an event may be the event's doing.
	slices.SortStableFunc(t.found, func(a, b turn) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(min(b.Event, 0), min(a.Event, 0)))
	})
	t.join()
	return t.shortened()
}

func call(e history.Event) string { return fmt.Sprintf("%s %d", e.Process, e.ID) }

func (t *teller) add(i int, e history.Event, weight int, format string, args ...any) *turn {
	t.found = append(t.found,
		turn{importance: weight, Mark: Mark{Time: e.Time, Event: i, Process: e.Process, Text: fmt.Sprintf(format, args...)}})
	return &t.found[len(t.found)-1]
}

// tell tells an event, if it is a turn of the story. The invoke is that of
// the operation that an outcome ends.
func (t *teller) tell(i int, e, invoke history.Event) {
	switch {
	case e.Type == history.TypeFault && e.Fault != nil && !e.Fault.Background:
		t.fault(i, e)
	case e.Type == history.TypeCancel:
		t.add(i, e, detail, "%s's caller gives up", e.Process)
	case e.Key != t.Key || e.Op == "" && e.Type != history.TypeLost:
	case e.Type == history.TypeLost:
		t.add(i, e, detail, "%s is told that it lost the lock", e.Process)
	case e.Op == history.OpAcquire:
		t.acquire(i, e, invoke)
	case e.Op == history.OpExtend:
		t.extend(i, e)
	case e.Op == history.OpRelease:
		t.release(i, e)
	case e.Op == history.OpCheck && e.Type == history.TypeOK:
		t.add(i, e, minor, "%s checks its lease: it is still valid", e.Process)
	case e.Op == history.OpCheck && e.Type == history.TypeFail:
		t.add(i, e, detail, "%s checks its lease: it is over", e.Process)
	case e.Op == history.OpRead || e.Op == history.OpWrite:
		t.access(i, e)
	}
}

func (t *teller) fault(i int, e history.Event) {
	weight := essential
	if e.Fault.Phase == history.PhaseEnd && !e.Fault.Class.Pauses() {
		weight = minor
	}
	f := *e.Fault
	text := faultText(f, f.Targets)
	if lost := t.forgotten(e); lost != "" {
		text = forgetfulText(f, lost)
	}
	told := t.add(i, e, weight, "%s", text)
	told.targets, told.group = f.Targets, sameFault(f)
	told.together = func(all []turn) string {
		var targets []string
		for _, u := range all {
			targets = append(targets, u.targets...)
		}
		return faultText(f, targets)
	}
	if len(f.Targets) > 0 {
		told.Process = f.Targets[0]
	}
}

// forgotten says whose keys a node had lost when it was started again.
func (t *teller) forgotten(e history.Event) string {
	if e.Fault.Class != history.NodeUp || e.Fault.Phase == history.PhaseEnd {
		return ""
	}
	before := t.started[list(e.Fault.Targets)]
	var owners []string
	for _, held := range t.tenures {
		if held.Key == t.Key && held.Ended == checker.TenureForgotten && held.Until >= before && held.Until <= e.Time &&
			slices.Contains(e.Fault.Targets, held.Node) && !slices.Contains(owners, held.Owner) && held.Owner != "" {
			owners = append(owners, held.Owner)
		}
	}
	if len(owners) == 0 {
		return ""
	}
	return ": " + list(owners) + "'s key is forgotten"
}

// ends tells what time alone did: keys that ran out, and beliefs.
func (t *teller) ends() {
	var expired []*turn
	known := map[string]*turn{}
	for _, held := range t.tenures {
		if held.Key != t.Key || held.Ended != checker.TenureExpired || held.Owner == "" || held.Until < t.From ||
			held.Until > t.Until {
			continue
		}
		id := held.Owner + held.Token
		if known[id] == nil {
			known[id] = &turn{importance: detail,
				Mark: Mark{Time: held.Until, Event: NoEvent, Process: held.Node, Text: held.Owner}}
			expired = append(expired, known[id])
		}
		known[id].targets = append(known[id].targets, held.Node)
	}
	for _, told := range expired {
		slices.Sort(told.targets)
		told.Text = fmt.Sprintf("%s's key expires on %s", told.Text, list(told.targets))
		if len(told.targets) > 1 {
			told.Text += ", one after the other"
		}
		t.found = append(t.found, *told)
	}
	for _, l := range t.leases {
		if l.Key == t.Key && l.Ended == checker.EndedDeadline && l.Until >= t.From && l.Until <= t.Until {
			e := history.Event{Time: l.Until, Process: l.Client}
			t.add(NoEvent, e, t.importanceOf(history.Event{Process: l.Client, ID: l.ID}),
				"%s's lease expires (its own view)", l.Client)
		}
	}
}

// facts marks the turns that a violation's facts are about, or adds them where nothing
// else tells of their events.
func (t *teller) facts() {
	if t.violation == nil {
		return
	}
	for _, fact := range t.violation.Facts {
		i := slices.IndexFunc(t.found, func(u turn) bool { return u.Event == fact.Event && fact.Event != NoEvent })
		if i >= 0 {
			t.found[i].importance = essential
			continue
		}
		if fact.Event < 0 || fact.Event >= len(t.Events) || t.Events[fact.Event].Time < t.From {
			continue
		}
		e := t.Events[fact.Event]
		if told := t.eventText(e); told != "" {
			t.found = append(t.found,
				turn{importance: essential, Mark: Mark{Time: e.Time, Event: fact.Event, Process: e.Process, Text: told}})
		}
	}
}

// turning marks the first turn after the point of no return, if experiments have found that.
func (t *teller) turning() {
	if t.violation == nil || t.violation.PointOfNoReturn == nil {
		return
	}
	at := *t.violation.PointOfNoReturn
	next := -1
	for i, u := range t.found {
		if u.Time >= at && (next < 0 || u.Time < t.found[next].Time) {
			next = i
		}
	}
	if next >= 0 {
		t.found[next].Turning, t.found[next].importance = true, essential
	}
}

// eventText tells of an event that is a turn only because a fact is about it: what a
// command did to the key of a node, or how a clock was set.
func (t *teller) eventText(e history.Event) string {
	if e.Type == history.TypeClock && e.Clock != nil {
		return fmt.Sprintf("%s's clock goes wrong: %s", e.Process, skewText(*e.Clock, e.Time))
	}
	link, isLink := e.Link()
	client, node := link.From, link.To
	if !isLink || e.Command == nil || e.Type != history.TypeReply {
		return ""
	}
	switch e.Command.Effect {
	case history.EffectSet:
		if e.Command.Expiry == 0 {
			return fmt.Sprintf("%s gives %s its key, which has no expiry", node, client)
		}
		return fmt.Sprintf("%s gives %s its key", node, client)
	case history.EffectExtend:
		return fmt.Sprintf("%s's extension prolongs the key on %s%s", client, node, t.whose(node, e.Time, client))
	case history.EffectDelete:
		return fmt.Sprintf("%s's release deletes the key on %s%s", client, node, t.whose(node, e.Time, client))
	}
	return ""
}

// whose says whose key a node held at a time, if it was another's.
func (t *teller) whose(node string, now int64, client string) string {
	for _, held := range t.tenures {
		if held.Node == node && held.Key == t.Key && held.From <= now && now <= held.Until && held.Owner != client &&
			held.Owner != "" {
			return ", which is " + held.Owner + "'s"
		}
	}
	return ""
}

// join makes one turn of those of one group that follow each other.
func (t *teller) join() {
	var joined []turn
	for rest := t.found; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].group != "" && rest[n].group == rest[0].group {
			n++
		}
		one := rest[0]
		if n > 1 {
			one.Text = one.together(rest[:n])
		}
		for _, u := range rest[1:n] {
			if u.Turning {
				one.Turning, one.importance, one.Event, one.Time = true, essential, u.Event, u.Time
			}
		}
		joined, rest = append(joined, one), rest[n:]
	}
	t.found = joined
}

// shortened leaves out what matters least where there are too many turns: of
// those that weigh the same, the ones farthest from the violation. Of a long
// history without one, only the faults are told.
func (t *teller) shortened() ([]Mark, int) {
	all, centre := len(t.found), t.From
	if t.violation != nil {
		centre = t.violation.From
	} else if all > maxTurns {
		t.found = slices.DeleteFunc(t.found, func(u turn) bool { return u.importance < essential })
	}
	order := make([]int, len(t.found))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(t.found[b].rank(), t.found[a].rank()),
			cmp.Compare(distance(t.found[a].Time, centre), distance(t.found[b].Time, centre)))
	})
	kept := slices.Sorted(slices.Values(order[:min(len(order), maxTurns)]))
	var marks []Mark
	for _, i := range kept {
		marks = append(marks, t.found[i].Mark)
	}
	return marks, all - len(marks)
}

// rank puts what made the violation inevitable before everything else.
func (u turn) rank() int {
	if u.Turning {
		return essential + 1
	}
	return u.importance
}

func distance(a, b int64) int64 { return max(a-b, b-a) }
