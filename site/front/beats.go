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

// store is the process that keeps what the lock guards.
const store = "store"

// teller makes a play of the events of one run.
type teller struct {
	*reports.History
	story  reports.Story
	leases []checker.Lease
	beats  []Beat
	last   history.Event // the write that the store accepted last
}

func micro(ns int64) int64 { return ns / 1000 }

// playOf tells a run.
func playOf(h *reports.History) Play {
	t := &teller{History: h, story: h.Tell(nil), leases: slices.Collect(h.Leases())}
	intro := "c1 and c2 are two programs: each will read one account and book a payment. n1 to n5 are servers that keep " +
		"a lock: it is for whoever has three of them."
	if len(t.story.Settings) > 0 {
		intro += " Here " + strings.Join(t.story.Settings, ", and ") + "."
	}
	t.add(0, intro)
	for i, e := range t.Events {
		t.event(i, e)
	}
	t.expiries()
	last := micro(t.last.Time)
	t.beats = slices.DeleteFunc(t.beats, func(b Beat) bool { return b.At > last })
	slices.SortStableFunc(t.beats, func(a, b Beat) int { return cmp.Compare(a.At, b.At) })
	end := last + last/20
	return Play{Beats: t.beats, Lanes: t.lanes(end), End: end}
}

func (t *teller) add(ns int64, text string, messages ...Message) *Beat {
	t.beats = append(t.beats, Beat{At: micro(ns), Text: text, Messages: messages})
	return &t.beats[len(t.beats)-1]
}

func (t *teller) event(i int, e history.Event) {
	switch {
	case e.Type == history.TypeFault && e.Fault != nil && !e.Fault.Background:
		t.fault(e)
	case e.Type == history.TypeInvoke && e.Op == history.OpAcquire:
		t.attempt(i, e)
	case e.Type != history.TypeOK || !slices.Contains(t.story.AllClients, e.Process):
	case e.Op == history.OpAcquire:
		t.granted(e)
	case e.Op == history.OpRead:
		t.add(e.Time, fmt.Sprintf("%s reads the account%s.", e.Process, t.accountText()),
			Message{e.Process, store, "read"}, Message{store, e.Process, "read"})
	case e.Op == history.OpWrite:
		t.written(e)
	}
}

// accountText says what stands in the account.
func (t *teller) accountText() string {
	if t.last.Value == "" {
		return ": no payment yet"
	}
	return ": " + t.last.Process + "’s payment is there"
}

func (t *teller) fault(e history.Event) {
	who := strings.Join(e.Fault.Targets, ", ")
	switch {
	case e.Fault.Phase == history.PhaseEnd && e.Fault.Class.Pauses() || e.Fault.Class == history.Resumed:
		t.add(e.Time, who+" wakes up. For "+who+" no time has passed: it goes on where it was.")
	case e.Fault.Class == history.ClientPaused:
		t.add(e.Time, who+" falls asleep before it can write: a garbage collection, say. It does not notice.")
	case e.Fault.Class == history.NodeDown:
		t.add(e.Time, who+" crashes. It kept its keys in memory alone.")
	case e.Fault.Class == history.NodeUp:
		t.add(e.Time, who+" is back, and has forgotten all keys.")
	case e.Fault.Class == history.NodeClock:
		t.add(e.Time, fmt.Sprintf("The clock of %s jumps forward by %s: an administrator set it, say.", who,
			e.Fault.Asked.Jump))
	}
}

// replies are the servers' answers to the SETs of one attempt, and when the last came.
type replies struct {
	yes, no  []string
	messages []Message
	last     int64
}

// isReply says whether an event is a server's answer to a SET of a client.
func isReply(e history.Event, client string) (node string, is bool) {
	link, _ := e.Link()
	return link.To, link.From == client && e.Type == history.TypeReply && e.Command.Effect == history.EffectSet
}

// repliesTo gathers the answers to the attempt with a token, until a moment.
func (t *teller) repliesTo(client, token string, until int64) (r replies) {
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

// attempt tells of the first attempt of an acquire that asks in vain.
func (t *teller) attempt(i int, invoke history.Event) {
	first := slices.IndexFunc(t.Events[i:], func(e history.Event) bool {
		_, is := isReply(e, invoke.Process)
		return is
	})
	if first < 0 {
		return
	}
	asked := t.Events[i+first]
	token := asked.Command.Token
	if slices.ContainsFunc(t.Events, func(e history.Event) bool {
		return e.Type == history.TypeOK && e.Op == history.OpAcquire && e.Token == token
	}) {
		return
	}
	r := t.repliesTo(invoke.Process, token, asked.Time+together)
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

// granted tells who said yes, and who else believes to have the lock.
func (t *teller) granted(e history.Event) {
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

// written tells of a write that the store accepted; one that was derived from another
// version than it replaces wipes that version out.
func (t *teller) written(e history.Event) {
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
	told := fmt.Sprintf("%s writes what it worked out before%s. It never saw %s’s payment, and writes over it.",
		e.Process, why, before.Process)
	b := t.add(e.Time, told, out)
	b.Bad = true
}

// together is how far apart answers may come, or keys expire, that are told of in one sentence.
const together = int64(20e6)

// expiries tells when the first client's keys run out at the servers.
func (t *teller) expiries() {
	var nodes []string
	var last int64
	tell := func() {
		if len(nodes) > 0 {
			t.expired(last, names(nodes))
		}
		nodes = nil
	}
	ends := slices.SortedFunc(t.Tenures(), func(a, b checker.Tenure) int { return cmp.Compare(a.Until, b.Until) })
	for _, held := range ends {
		if held.Owner != "c1" || held.Ended != checker.TenureExpired || t.was(held.Node, reports.Down, held.Until) {
			continue
		}
		if held.Until > last+together {
			tell()
		}
		nodes, last = append(nodes, held.Node), held.Until
	}
	tell()
}

func (t *teller) expired(at int64, nodes string) {
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

// was says whether a client or a server was in a state.
func (t *teller) was(name string, state reports.State, at int64) bool {
	for _, l := range slices.Concat(t.story.Clients, t.story.Nodes) {
		if l.Name == name && slices.ContainsFunc(l.Stretches,
			func(s reports.Stretch) bool { return s.State == state && s.From <= at && at < s.Until }) {
			return true
		}
	}
	return false
}

func (t *teller) lanes(end int64) []Lane {
	var all []Lane
	for _, l := range append(slices.Clone(t.story.Clients), t.story.Nodes...) {
		lane := Lane{Name: l.Name}
		for _, s := range l.Stretches {
			state := map[reports.State]string{reports.Acquiring: "asking", reports.Holding: "holding", reports.Paused: "asleep",
				reports.HoldingPaused: "asleep", reports.Down: "down", reports.Owned: s.Owner}[s.State]
			if from := micro(s.From); from < end {
				until := min(micro(s.Until), end)
				if s.Until >= t.last.Time { // it goes on behind the play
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

// names joins names in a sentence, in their order.
func names(all []string) string {
	slices.Sort(all)
	return wording.List(all)
}
