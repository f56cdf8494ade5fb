package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
)

const ms = int64(1_000_000)

// majority is one of the five nodes.
var majority = []string{"n1", "n2", "n3"}

// links are a client's links to a majority.
func links(client string) (all []string) {
	for _, node := range majority {
		all = append(all, client+"-"+node)
	}
	return all
}

// story builds a history by hand. Its methods take times in milliseconds.
type story struct {
	header history.Header
	events []history.Event
	ids    map[string]int
	serial int64
	faults int
	drawn  bool // its faults are a schedule's, not a script's
	cut    bool
}

// newStory begins a story: five nodes, a TTL of a second, generous bounds.
func newStory() *story {
	return &story{ids: map[string]int{}, header: history.Header{
		Version: history.Version, Scenario: "test", Cluster: "virtual", Lock: "redlock", TTL: 1000 * ms,
		Nodes: []string{"n1", "n2", "n3", "n4", "n5"}, Clients: []string{"c1", "c2", "c3"},
		Expect: map[string]string{}, Bounds: history.Bounds{Free: 1500 * ms, Grant: 500 * ms},
	}}
}

func (s *story) add(t int64, e history.Event) {
	e.Time = t * ms
	if e.Fault != nil {
		nemesis.Classify(e.Fault)
	}
	s.events = append(s.events, e)
}

// op adds an operation with its outcome; outcome "" leaves it under way.
func (s *story) op(asked, done int64, outcome history.Type, e history.Event) int {
	e.ID = s.invoke(asked, e)
	if outcome != "" {
		e.Type = outcome
		s.add(done, e)
	}
	return e.ID
}

// invoke adds the call of an operation, and returns its ID.
func (s *story) invoke(t int64, e history.Event) int {
	s.ids[e.Process]++
	call := history.Event{Process: e.Process, Type: history.TypeInvoke, Op: e.Op, ID: s.ids[e.Process], Key: e.Key,
		Lease: e.Lease, Value: e.Value, Base: e.Base}
	switch e.Op {
	case history.OpRead:
		call.Value, call.Fence = "", e.Fence
	case history.OpWrite:
		call.Fence = e.Fence
	}
	s.add(t, call)
	return call.ID
}

// grant is an acquire of k1 that is granted, with its validity.
func (s *story) grant(client string, asked, done, validity int64) int {
	id := s.ids[client] + 1
	return s.op(asked, done, history.TypeOK, history.Event{Process: client, Op: history.OpAcquire, Key: "k1",
		Token: fmt.Sprintf("%s.%d", client, id), Validity: validity * ms})
}

// attempt is an acquire of k1 without a grant.
func (s *story) attempt(client string, asked, done int64, outcome history.Type) int {
	return s.op(asked, done, outcome, history.Event{Process: client, Op: history.OpAcquire, Key: "k1",
		Reason: history.ReasonHeld})
}

func (s *story) extend(client string, lease int, asked, done, validity int64) {
	s.op(asked, done, history.TypeOK, history.Event{Process: client, Op: history.OpExtend, Key: "k1", Lease: lease,
		Validity: validity * ms})
}

func (s *story) release(client string, lease int, asked, done int64, outcome history.Type) {
	s.op(asked, done, outcome, history.Event{Process: client, Op: history.OpRelease, Key: "k1", Lease: lease})
}

func (s *story) read(client string, lease int, asked, done int64, value string, fence int64) {
	s.op(asked, done, history.TypeOK, history.Event{Process: client, Op: history.OpRead, Key: "k1", Lease: lease,
		Value: value, Fence: fence})
}

func (s *story) write(client string, lease int, asked, done int64, outcome history.Type, base, value string,
	fence int64) {
	s.op(asked, done, outcome, history.Event{Process: client, Op: history.OpWrite, Key: "k1", Lease: lease, Base: base,
		Value: value, Fence: fence})
}

func (s *story) fault(t int64, kind string, phase history.Phase, id int, targets ...string) {
	s.add(t, history.Event{Process: "nemesis", Type: history.TypeFault,
		Fault: &history.Fault{ID: id, Kind: kind, Phase: phase, Targets: targets, Effective: true, Random: s.drawn}})
}

// lasting is a fault between two times.
func (s *story) lasting(from, until int64, kind string, targets ...string) {
	s.during(from, until, history.Fault{Kind: kind, Targets: targets, Random: s.drawn})
}

// during is a fault between two times, on c1-n1 unless it names another target; it returns the end.
func (s *story) during(from, until int64, f history.Fault) (end *history.Fault) {
	s.faults++
	f.ID, f.Phase, f.Effective = s.faults, history.PhaseBegin, true
	if f.Targets == nil {
		f.Targets = []string{"c1-n1"}
	}
	begin := f
	f.Phase = history.PhaseEnd
	s.add(from, history.Event{Process: "nemesis", Type: history.TypeFault, Fault: &begin})
	s.add(until, history.Event{Process: "nemesis", Type: history.TypeFault, Fault: &f})
	return &f
}

// slow is a one-way delay of links.
func (s *story) slow(from, until, by int64, links ...string) {
	s.during(from, until, history.Fault{Kind: "delay", Targets: links, Delay: by * ms})
}

// counted is a fault with a count of what it affected.
func (s *story) counted(from, until int64, met int, f history.Fault) {
	s.during(from, until, f).Affected = &met
}

// instant is a fault without a duration.
func (s *story) instant(t int64, kind string, targets ...string) {
	s.faults++
	s.fault(t, kind, history.PhaseInstant, s.faults, targets...)
}

// seen is an instant fault that may have been in effect before it was observed.
func (s *story) seen(since, t int64, kind string, targets ...string) {
	s.faults++
	s.add(t, history.Event{Process: "nemesis", Type: history.TypeFault,
		Fault: &history.Fault{ID: s.faults, Kind: kind, Phase: history.PhaseInstant, Targets: targets, Effective: true,
			Since: since * ms}})
}

func (s *story) clock(t int64, process string, reading int64, rate float64, wall bool) {
	s.add(t, history.Event{Process: process, Type: history.TypeClock, Clock: &history.Clock{Reading: reading * ms,
		Rate: rate, Wall: wall}})
}

// sets is a SET with its expiry that took the key on some nodes.
func (s *story) sets(t int64, client, token string, expiry int64, nodes ...string) {
	s.commands(t, client, "SET", token, expiry, history.EffectSet, nodes)
}

func (s *story) extends(t int64, client, token string, expiry int64, nodes ...string) {
	s.commands(t, client, "EVAL", token, expiry, history.EffectExtend, nodes)
}

func (s *story) deletes(t int64, client, token string, nodes ...string) {
	s.commands(t, client, "EVAL", token, 0, history.EffectDelete, nodes)
}

func (s *story) commands(t int64, client, name, token string, expiry int64, effect history.Effect, nodes []string) {
	for _, n := range nodes {
		c := history.Command{Name: name, Key: "k1", Token: token, Expiry: expiry * ms, Effect: effect}
		s.command(t, client+">"+n, c)(t, "OK", true)
	}
}

// command is one that arrives over a link. It returns a function that adds the reply.
func (s *story) command(t int64, link string, c history.Command) (answer func(t int64, reply string, done bool)) {
	s.serial++
	c.Serial = s.serial
	arrived := c
	s.add(t, history.Event{Process: link, Type: history.TypeCommand, Command: &arrived})
	return func(t int64, reply string, done bool) {
		c.Reply, c.Done = reply, done
		s.add(t, history.Event{Process: link, Type: history.TypeReply, Command: &c})
	}
}

// stored is a write that reached the store and was accepted; answered is 0 if the store did not reply.
func (s *story) stored(client, version string, arrived, answered int64) {
	answer := s.command(arrived, client+">store", history.Command{Name: "SET", Key: "value:k1", Token: version,
		Effect: history.EffectSet, Unconditional: true})
	if answered > 0 {
		answer(answered, "OK", true)
	}
}

// look is a look into a node that is up; a ttl of -1 ms is no expiry, a token of "" no key.
func (s *story) look(t int64, node, runID, token string, ttl int64) {
	n := &history.Node{Up: true, RunID: runID}
	if token != "" {
		state := history.KeyState{Token: token, TTL: ttl * ms}
		if ttl < 0 {
			state.TTL = -1
		}
		n.Keys = map[string]history.KeyState{"k1": state}
	}
	s.add(t, history.Event{Process: node, Type: history.TypeNode, Node: n})
}

// end returns the events in order, with header and end line. The end is at t or at the last event, whichever is later.
func (s *story) end(t int64) []history.Event {
	slices.SortStableFunc(s.events, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
	header := s.header
	all := append([]history.Event{{Type: history.TypeHeader, Process: "harness", Header: &header}}, s.events...)
	if s.cut {
		return all
	}
	last := max(t*ms, all[len(all)-1].Time)
	return append(all, history.Event{Time: last, Type: history.TypeEnd, Process: "harness"})
}

// history reads the story, which ends at t or at the last event.
func (s *story) history(tb testing.TB, t int64) *History {
	tb.Helper()
	h, err := Read(InMemory(s.end(t)))
	require.NoError(tb, err)
	return h
}

// check judges events.
func check(events []history.Event) (Verdict, error) {
	h, err := Read(InMemory(events))
	if err != nil {
		return Verdict{}, err
	}
	return h.Verdict()
}

// judged checks the story and returns the result of one property.
func (s *story) judged(t *testing.T, property string) Result {
	t.Helper()
	verdict, err := s.history(t, 0).Verdict()
	require.NoError(t, err)
	return verdict.Of(property)
}

// silent is a SET that reached nodes, with no reply unless the test adds one.
func (s *story) silent(t int64, client, token string, nodes ...string) (answer func(t int64, reply string, done bool)) {
	var answers []func(int64, string, bool)
	for _, node := range nodes {
		answers = append(answers, s.command(t, client+">"+node, history.Command{Name: "SET", Key: "k1", Token: token,
			Expiry: 3000 * ms, Effect: history.EffectSet}))
	}
	return func(t int64, reply string, done bool) {
		for _, answer := range answers {
			answer(t, reply, done)
		}
	}
}

// refused is a SET that nodes refused with the holder's token.
func (s *story) refused(t int64, client, token, holder string, nodes ...string) {
	s.silent(t, client, token, nodes...)(t, holder, false)
}

// holder lets c1 take its keys on a majority, with an expiry, and be granted the lock.
func (s *story) holder(expiry, validity int64) int {
	s.sets(5, "c1", "c1.1", expiry, majority...)
	return s.grant("c1", 0, 10, validity)
}

// setClocks sets nodes' clocks.
func (s *story) setClocks(t, reading int64, rate float64, nodes ...string) {
	for _, node := range nodes {
		s.instant(t, "clock", node)
		s.clock(t, node, reading, rate, true)
	}
}

// asksAgain lets a client make short failed attempts at intervals.
func (s *story) asksAgain(client string, from, until, every int64) {
	for t := from; t < until; t += every {
		s.attempt(client, t, t+1, history.TypeFail)
	}
}

// refusedAgain lets nodes refuse a client's SETs at intervals.
func (s *story) refusedAgain(client, token, holder string, from, until int64, nodes ...string) {
	for t := from; t < until; t += 100 {
		s.refused(t, client, token, holder, nodes...)
	}
}

// violated reports whether a story violates a property.
func (s *story) violated(t *testing.T, property string) bool {
	t.Helper()
	return s.judged(t, property).Verdict == history.Violated
}

// storyCase is a story with its required verdict.
type storyCase struct {
	name    string
	tell    func(*story)
	verdict string
	says    string // contained in the reason of an inconclusive one, or in the first violation
}

// requireVerdict checks the story and compares one verdict. The result's reason, or its first violation, says why.
func (s *story) requireVerdict(t *testing.T, property, verdict, says string) Result {
	t.Helper()
	r := s.judged(t, property)
	require.Equal(t, verdict, r.Verdict, "%s: %s %v", property, r.Reason, r.Violations)
	for _, v := range r.Violations {
		require.NotEmpty(t, v.What)
		require.LessOrEqual(t, v.From, v.Until, v.What)
	}
	if verdict == history.Inconclusive {
		require.Contains(t, r.Reason, says)
		require.Contains(t, []Cause{Vacuous, Stalled, Unknown, Unfinished, Contradicted, NeedsAllNodes}, r.Cause)
		require.True(t, strings.HasPrefix(r.Reason, string(r.Cause)+": "), r.Reason)
		return r
	}
	require.Empty(t, r.Reason)
	require.Empty(t, r.Cause)
	if verdict == history.Violated {
		require.Contains(t, r.Violations[0].What, says)
	}
	return r
}

// requireVerdicts judges stories by one property; all may begin alike.
func requireVerdicts(t *testing.T, property string, tests []storyCase, begin ...func(*story)) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			for _, tell := range append(begin, test.tell) {
				tell(s)
			}
			s.requireVerdict(t, property, test.verdict, test.says)
		})
	}
}
