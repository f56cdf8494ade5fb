package front

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/wording"
	"example.org/lockproof/reports"
)

// store is the name of the guarded store.
const store = "store"

// playBuilder makes a play of the events of one run.
type playBuilder struct {
	*reports.History
	story  reports.Story
	leases []checker.Lease
	beats  []Beat
	last   history.Event // the last write that the store accepted
}

func micro(ns int64) int64 { return ns / 1000 }

func playOf(h *reports.History) Play {
	t := &playBuilder{History: h, story: h.Tell(nil), leases: h.Leases()}
	intro := "c1 and c2 are two programs: each will read one account and book a payment. n1 to n5 are servers that keep " +
		"a lock: it is for whoever has three of them."
	if len(t.story.Settings) > 0 {
		intro += " Here " + strings.Join(t.story.Settings, ", and ") + "."
	}
	t.add(0, intro)
	for i, e := range t.Events {
		t.addEvent(i, e)
	}
	t.addExpiries()
	last := micro(t.last.Time)
	t.beats = slices.DeleteFunc(t.beats, func(b Beat) bool { return b.At > last })
	slices.SortStableFunc(t.beats, func(a, b Beat) int { return cmp.Compare(a.At, b.At) })
	end := last + last/20
	return Play{Beats: t.beats, Lanes: t.lanes(end), End: end}
}

func (t *playBuilder) add(ns int64, text string, messages ...Message) *Beat {
	t.beats = append(t.beats, Beat{At: micro(ns), Text: text, Messages: messages})
	return &t.beats[len(t.beats)-1]
}

func (t *playBuilder) addEvent(i int, e history.Event) {
	switch {
	case e.Type == history.TypeFault && e.Fault != nil && !e.Fault.Background:
		t.addFault(e)
	case e.Type == history.TypeInvoke && e.Op == history.OpAcquire:
		t.addFailedAttempt(i, e)
	case e.Type != history.TypeOK || !slices.Contains(t.story.AllClients, e.Process):
	case e.Op == history.OpAcquire:
		t.addGrant(e)
	case e.Op == history.OpRead:
		t.add(e.Time, fmt.Sprintf("%s reads the account%s.", e.Process, t.accountText()),
			Message{e.Process, store, "read"}, Message{store, e.Process, "read"})
	case e.Op == history.OpWrite:
		t.addWrite(e)
	}
}

// accountText describes the account's content.
func (t *playBuilder) accountText() string {
	if t.last.Value == "" {
		return ": no payment yet"
	}
	return ": " + t.last.Process + "’s payment is there"
}

func (t *playBuilder) addFault(e history.Event) {
	targets := strings.Join(e.Fault.Targets, ", ")
	switch {
	case e.Fault.Phase == history.PhaseEnd && e.Fault.Class.Pauses() || e.Fault.Class == history.Resumed:
		t.add(e.Time, targets+" wakes up. For "+targets+" no time has passed: it goes on where it was.")
	case e.Fault.Class == history.ClientPaused:
		t.add(e.Time, targets+" falls asleep before it can write: a garbage collection, say. It does not notice.")
	case e.Fault.Class == history.NodeDown:
		t.add(e.Time, targets+" crashes. It kept its keys in memory alone.")
	case e.Fault.Class == history.NodeUp:
		t.add(e.Time, targets+" is back, and has forgotten all keys.")
	case e.Fault.Class == history.NodeClock:
		t.add(e.Time, fmt.Sprintf("The clock of %s jumps forward by %s: an administrator set it, say.", targets,
			e.Fault.Asked.Jump))
	}
}

// replies are the servers' replies to the SETs of one attempt; last is the time of the last one.
type replies struct {
	yes, no  []string
	messages []Message
	last     int64
}

// isReply reports whether an event is a server's reply to a client's SET.
func isReply(e history.Event, client string) (node string, is bool) {
	link, _ := e.Link()
	return link.To, link.From == client && e.Type == history.TypeReply && e.Command.Effect == history.EffectSet
}

// repliesTo returns the replies to the attempt with a token up to a time.
func (t *playBuilder) repliesTo(client, token string, until int64) (r replies) {
	for _, e := range t.Events {
		node, is := isReply(e, client)
		if !is || e.Command.Token != token || e.Time > until || slices.Contains(r.yes, node) {
			continue
		}
		kind := "no"
		if e.Command.Done {
			kind, r.yes = "yes", append(r.yes, node)
		} else {
			r.no = append(r.no, node)
		}
		r.last, r.messages = e.Time, append(r.messages, Message{client, node, "ask"}, Message{node, client, kind})
	}
	return r
}

// addFailedAttempt adds the first attempt of an acquire if it fails.
func (t *playBuilder) addFailedAttempt(i int, invoke history.Event) {
	first := slices.IndexFunc(t.Events[i:], func(e history.Event) bool {
		_, is := isReply(e, invoke.Process)
		return is
	})
	if first < 0 {
		return
	}
	reply := t.Events[i+first]
	token := reply.Command.Token
	if slices.ContainsFunc(t.Events, func(e history.Event) bool {
		return e.Type == history.TypeOK && e.Op == history.OpAcquire && e.Token == token
	}) {
		return
	}
	r := t.repliesTo(invoke.Process, token, reply.Time+together)
	text := fmt.Sprintf("%s asks for the lock, too. ", invoke.Process)
	switch {
	case len(r.no) > 0:
		text += names(r.no) + " " + have(r.no) + " c1’s key: no."
	default:
		text += "Only " + names(r.yes) + " say yes, and three are needed."
	}
	if len(r.yes) > 0 {
		text += " It gives back what it got."
	}
	t.add(r.last, text+" It tries again and again.", r.messages...)
}

// addGrant adds a grant with the servers that agreed and with other clients that rely on their leases.
func (t *playBuilder) addGrant(e history.Event) {
	r := t.repliesTo(e.Process, e.Token, e.Time)
	text := fmt.Sprintf("%s say yes: %s has the lock for %s.", names(r.yes), e.Process, reports.Duration(1e9))
	if t.leases[0].From == e.Time {
		text = fmt.Sprintf("%s asks for the lock. ", e.Process) + text
	}
	for _, l := range t.leases {
		if l.Client != e.Process && l.From < e.Time && l.Until > e.Time {
			text += " But " + l.Client + " counts on it, too."
		}
	}
	t.add(e.Time, text, r.messages...)
}

// addWrite adds an accepted write. A write derived from another version than it replaces overwrites that version.
func (t *playBuilder) addWrite(e history.Event) {
	before := t.last
	t.last = e
	out := Message{e.Process, store, "write"}
	if before.Value == "" || before.Value == e.Base || before.Process == e.Process {
		t.add(e.Time, fmt.Sprintf("%s books its payment.", e.Process), out)
		return
	}
	out.Kind = "lost"
	why := ""
	for _, l := range t.leases {
		if l.Client == e.Process && l.Until < e.Time {
			why = ", long after its lease has ended"
		}
	}
	text := fmt.Sprintf("%s writes what it worked out before%s. It never saw %s’s payment, and writes over it.",
		e.Process, why, before.Process)
	b := t.add(e.Time, text, out)
	b.Bad = true
}

// together is the longest distance of replies or expiries that share a sentence.
const together = int64(20e6)

// addExpiries adds the expiries of c1's keys.
func (t *playBuilder) addExpiries() {
	var nodes []string
	var last int64
	flush := func() {
		if len(nodes) > 0 {
			t.addExpiry(last, names(nodes))
		}
		nodes = nil
	}
	ends := t.Ownerships()
	slices.SortFunc(ends, func(a, b checker.Ownership) int { return cmp.Compare(a.Until, b.Until) })
	for _, owned := range ends {
		if owned.Owner != "c1" || owned.Ended != checker.OwnershipExpired || t.was(owned.Node, reports.Down, owned.Until) {
			continue
		}
		if owned.Until > last+together {
			flush()
		}
		nodes, last = append(nodes, owned.Node), owned.Until
	}
	flush()
}

func (t *playBuilder) addExpiry(at int64, nodes string) {
	text := fmt.Sprintf("c1’s key expires on %s.", nodes)
	for _, l := range t.leases {
		switch {
		case l.Client != "c1":
		case l.Until > at:
			text = fmt.Sprintf("On %s c1’s key expires too early, while c1 counts on it.", nodes)
		case t.was("c1", reports.Paused, at):
			text += " c1 is asleep, and cannot know."
		}
	}
	t.add(at, text)
}

// was reports whether a client or a server was in a state at a time.
func (t *playBuilder) was(name string, state reports.State, at int64) bool {
	for _, l := range slices.Concat(t.story.Clients, t.story.Nodes) {
		if l.Name == name && slices.ContainsFunc(l.Stretches,
			func(s reports.Stretch) bool { return s.State == state && s.From <= at && at < s.Until }) {
			return true
		}
	}
	return false
}

func (t *playBuilder) lanes(end int64) []Lane {
	var all []Lane
	for _, l := range append(slices.Clone(t.story.Clients), t.story.Nodes...) {
		lane := Lane{Name: l.Name}
		for _, s := range l.Stretches {
			state := map[reports.State]string{reports.Acquiring: "asking", reports.Holding: "holding", reports.Paused: "asleep",
				reports.HoldingPaused: "asleep", reports.Down: "down", reports.Owned: s.Owner}[s.State]
			if from := micro(s.From); from < end {
				until := min(micro(s.Until), end)
				if s.Until >= t.last.Time { // it continues after the play
					until = end
				}
				lane.Stretches = append(lane.Stretches, Stretch{from, until, state})
			}
		}
		all = append(all, lane)
	}
	return all
}

func have(all []string) string {
	if len(all) == 1 {
		return "has"
	}
	return "have"
}

// names joins names in a sentence in alphabetical order.
func names(all []string) string {
	slices.Sort(all)
	return wording.List(all)
}
