package reports

import (
	"cmp"
	"fmt"
	"slices"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// maxTurns bounds the sentences of a story.
const maxTurns = 16

// The weights of turns: a story that is too long keeps the heaviest.
const (
	minor = iota
	detail
	essential
	inevitable // after the point of no return
)

// turn is a candidate for a mark of the story.
type turn struct {
	Mark
	importance int
	// Consecutive turns of one group share a sentence: a fault on several targets, repeated extensions.
	group string
	fault *history.Fault
}

// turns returns one sentence for each turn, in time order, and the number of omitted turns.
func (t *storyBuilder) turns() ([]Mark, int) {
	t.addExpiries()
	t.markFacts()
	t.addPointOfNoReturn()
	// An event may have caused an expiry of the same instant, so that the event comes first.
	slices.SortStableFunc(t.found, func(a, b turn) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(min(b.Event, 0), min(a.Event, 0)))
	})
	t.join()
	return t.shortened()
}

func call(e history.Event) string { return fmt.Sprintf("%s %d", e.Process, e.ID) }

func (t *storyBuilder) add(i int, e history.Event, weight int, format string, args ...any) *turn {
	t.found = append(t.found,
		turn{importance: weight, Mark: Mark{Time: e.Time, Event: i, Process: e.Process, Text: fmt.Sprintf(format, args...)}})
	return &t.found[len(t.found)-1]
}

// sentences describe events that need no context, by operation and type.
var sentences = map[string]struct {
	weight int
	text   string
}{
	" cancel":        {detail, "'s caller cancels"},
	" lost":          {detail, " learns that it lost the lock"},
	"acquire info":   {detail, " does not learn whether it acquired the lock"},
	"check ok":       {minor, " checks its lease: it is still valid"},
	"check fail":     {detail, " checks its lease: it is over"},
	"release invoke": {detail, " releases the lock"},
}

// addTurn adds an event to the story if it is a turn. The invoke is of the operation that an outcome ends.
func (t *storyBuilder) addTurn(i int, e, invoke history.Event) {
	kind := string(e.Op) + " " + string(e.Type)
	if e.Key != t.Key && e.Type != history.TypeCancel && e.Type != history.TypeFault {
		return
	}
	if sentence, known := sentences[kind]; known {
		t.add(i, e, sentence.weight, "%s", e.Process+sentence.text)
		return
	}
	switch kind {
	case " fault":
		if e.Fault != nil && !e.Fault.Background {
			t.addFault(i, e)
		}
	case "acquire invoke":
		t.add(i, e, t.importanceOf(e), "%s begins to acquire %q", e.Process, e.Key)
	case "acquire ok":
		t.addGrant(i, e, invoke)
	case "acquire fail":
		t.add(i, e, detail, "%s %s%s", e.Process, t.failureText(e, invoke), t.acquiredNodes(e, invoke))
	case "extend ok":
		t.addExtend(i, e)
	case "extend fail":
		t.add(i, e, detail, "%s fails to extend its lease%s", e.Process, failureReasons[e.Reason])
	case "release fail":
		if e.Reason == history.ReasonLost {
			t.add(i, e, minor, "%s learns on release that it no longer held the lock", e.Process)
		}
	default:
		if e.Op == history.OpRead || e.Op == history.OpWrite {
			t.addAccess(i, e)
		}
	}
}

func (t *storyBuilder) addFault(i int, e history.Event) {
	f := *e.Fault
	weight := essential
	if f.Phase == history.PhaseEnd && !f.Class.Pauses() {
		weight = minor
	}
	text := faultText(f, f.Targets)
	if lost := t.lostOwners(e); lost != "" {
		text = restartText(f, lost)
	}
	added := t.add(i, e, weight, "%s", text)
	added.fault, added.group = &f, sameFault(f)
	if len(f.Targets) > 0 {
		added.Process = f.Targets[0]
	}
}

// lostOwners names the clients whose keys a restarted node lost.
func (t *storyBuilder) lostOwners(e history.Event) string {
	if e.Fault.Class != history.NodeUp || e.Fault.Phase == history.PhaseEnd {
		return ""
	}
	before := t.started[list(e.Fault.Targets)]
	var owners []string
	for _, owned := range t.ownerships {
		if owned.Key == t.Key && owned.Ended == checker.OwnershipForgotten &&
			owned.Until >= before && owned.Until <= e.Time &&
			slices.Contains(e.Fault.Targets, owned.Node) && !slices.Contains(owners, owned.Owner) && owned.Owner != "" {
			owners = append(owners, owned.Owner)
		}
	}
	if len(owners) == 0 {
		return ""
	}
	return ": " + list(owners) + "'s key is forgotten"
}

// addExpiries adds the ends of keys and leases that time alone caused.
func (t *storyBuilder) addExpiries() {
	type expiry struct {
		first checker.Ownership
		nodes []string
	}
	var expiries []*expiry
	latest := map[string]*expiry{} // by owner and token
	for _, owned := range slices.SortedStableFunc(slices.Values(t.ownerships),
		func(a, b checker.Ownership) int { return cmp.Compare(a.Until, b.Until) }) {
		if owned.Key != t.Key || owned.Ended != checker.OwnershipExpired || owned.Owner == "" || !t.within(owned.Until) {
			continue
		}
		id := owned.Owner + owned.Token
		// A second expiry on a node is that of another attempt with the same token.
		if latest[id] == nil || slices.Contains(latest[id].nodes, owned.Node) {
			latest[id] = &expiry{first: owned}
			expiries = append(expiries, latest[id])
		}
		latest[id].nodes = append(latest[id].nodes, owned.Node)
	}
	for _, e := range expiries {
		slices.Sort(e.nodes)
		text := fmt.Sprintf("%s's key expires on %s", e.first.Owner, list(e.nodes))
		if len(e.nodes) > 1 {
			text += ", one after the other"
		}
		t.add(NoEvent, history.Event{Time: e.first.Until, Process: e.first.Node}, detail, "%s", text)
	}
	for _, l := range t.leases {
		if l.Key == t.Key && l.Ended == checker.EndedDeadline && t.within(l.Until) {
			e := history.Event{Time: l.Until, Process: l.Client}
			t.add(NoEvent, e, t.importanceOf(history.Event{Process: l.Client, ID: l.ID}),
				"%s's lease expires (its own view)", l.Client)
		}
	}
}

// markFacts marks the turns of a violation's facts as essential. It adds turns for facts without one.
func (t *storyBuilder) markFacts() {
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
		if text := t.eventText(e); text != "" {
			t.add(fact.Event, e, essential, "%s", text)
		}
	}
}

// addPointOfNoReturn adds the point of no return, if experiments found one within the window.
func (t *storyBuilder) addPointOfNoReturn() {
	if t.violation == nil || t.violation.PointOfNoReturn == nil || !t.within(*t.violation.PointOfNoReturn) {
		return
	}
	e := history.Event{Time: *t.violation.PointOfNoReturn}
	t.add(NoEvent, e, inevitable, "the point of no return: ending the faults later did not help").Turning = true
}

// eventText describes an event that is a turn only as a fact of the violation: a command's effect on a key, or a clock
// setting.
func (t *storyBuilder) eventText(e history.Event) string {
	if e.Type == history.TypeClock && e.Clock != nil {
		return fmt.Sprintf("%s's clock is wrong: %s", e.Process, skewText(*e.Clock, e.Time))
	}
	link, isLink := e.Link()
	client, node := link.From, link.To
	if !isLink || e.Command == nil || e.Type != history.TypeReply {
		return ""
	}
	switch e.Command.Effect {
	case history.EffectSet:
		if e.Command.Expiry == 0 {
			return fmt.Sprintf("%s sets %s's key, without an expiry", node, client)
		}
		return fmt.Sprintf("%s sets %s's key", node, client)
	case history.EffectExtend:
		return fmt.Sprintf("%s's extension extends the key on %s%s", client, node, t.otherOwner(node, e.Time, client))
	case history.EffectDelete:
		return fmt.Sprintf("%s's release deletes the key on %s%s", client, node, t.otherOwner(node, e.Time, client))
	}
	return ""
}

// otherOwner names the owner of a node's key at a time, if it is another client.
func (t *storyBuilder) otherOwner(node string, now int64, client string) string {
	for _, owned := range t.ownerships {
		if owned.Node == node && owned.Key == t.Key && owned.From <= now && now <= owned.Until && owned.Owner != client &&
			owned.Owner != "" {
			return ", which is " + owned.Owner + "'s"
		}
	}
	return ""
}

// join merges consecutive turns of one group.
func (t *storyBuilder) join() {
	var joined []turn
	for rest := t.found; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].group != "" && rest[n].group == rest[0].group {
			n++
		}
		merged := rest[0]
		if n > 1 {
			merged.Text = joinedText(rest[:n])
		}
		joined, rest = append(joined, merged), rest[n:]
	}
	t.found = joined
}

// joinedText describes the turns of one group.
func joinedText(all []turn) string {
	first, last := all[0], all[len(all)-1]
	if first.fault == nil {
		return fmt.Sprintf("%s extends its lease %d times, the last at %s", first.Process, len(all),
			Moment(last.Time))
	}
	var targets []string
	for _, u := range all {
		targets = append(targets, u.fault.Targets...)
	}
	return faultText(*first.fault, targets)
}

// shortened keeps the most important turns and, among equals, the nearest to the violation. Of a long history without a
// violation it keeps only the faults.
func (t *storyBuilder) shortened() ([]Mark, int) {
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
			cmp.Compare(t.found[b].importance, t.found[a].importance),
			cmp.Compare(distance(t.found[a].Time, centre), distance(t.found[b].Time, centre)))
	})
	kept := slices.Sorted(slices.Values(order[:min(len(order), maxTurns)]))
	var marks []Mark
	for _, i := range kept {
		marks = append(marks, t.found[i].Mark)
	}
	return marks, all - len(marks)
}

func distance(a, b int64) int64 { return max(a-b, b-a) }
