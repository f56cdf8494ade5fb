package reports

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/golden"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/reports/terminal"
	"example.org/lockproof/scenarios"
)

// pauseHistory is Kleppmann's first example: c1 acquires and is paused beyond its deadline, c2 acquires meanwhile. n3
// is killed and restarts.
func pauseHistory() *History {
	fault := func(at int64, id int, kind string, phase history.Phase, target string,
		measured map[string]string) history.Event {
		f := &history.Fault{ID: id, Kind: kind, Phase: phase, Targets: []string{target}, Measured: measured, Effective: true}
		nemesis.Classify(f)
		return history.Event{Time: at * ms, Process: "nemesis", Type: history.TypeFault, Fault: f}
	}
	acquire := func(at int64, client string, kind history.Type) history.Event {
		e := history.Event{Time: at * ms, Process: client, Type: kind, Op: history.OpAcquire, ID: 1, Key: "k1"}
		if kind == history.TypeOK {
			e.Validity = 990 * ms
		}
		return e
	}
	events := []history.Event{
		{Type: history.TypeHeader, Header: &history.Header{
			Clients: []string{"c1", "c2", "c3"}, Nodes: []string{"n1", "n2", "n3"}, TTL: 1000 * ms}},
		acquire(10, "c1", history.TypeInvoke),
		acquire(100, "c1", history.TypeOK),
		fault(300, 1, "pause", history.PhaseBegin, "c1", map[string]string{"state": "T"}),
		fault(600, 2, "kill", history.PhaseInstant, "n3", nil),
		{Time: 900 * ms, Process: "n3", Type: history.TypeNode, Node: &history.Node{Up: true}},
		acquire(1000, "c2", history.TypeInvoke),
		acquire(1250, "c2", history.TypeOK),
		fault(1600, 1, "pause", history.PhaseEnd, "c1", nil),
		{Time: 2000 * ms, Process: "harness", Type: history.TypeEnd},
	}
	leases := []checker.Lease{
		{Client: "c1", ID: 1, Key: "k1", Asked: 10 * ms, From: 100 * ms, Until: 1090 * ms, Ended: checker.EndedDeadline},
		{Client: "c2", ID: 1, Key: "k1", Asked: 1000 * ms, From: 1250 * ms, Until: 2000 * ms, Ended: checker.EndedKilled},
	}
	ownerships := []checker.Ownership{
		{Node: "n1", Key: "k1", Owner: "c1", From: 50 * ms, Until: 1050 * ms, Ended: checker.OwnershipExpired},
		{Node: "n1", Key: "k1", Owner: "c2", From: 1200 * ms, Until: 2000 * ms},
		{Node: "n2", Key: "k1", Owner: "nobody", From: 50 * ms, Until: 1050 * ms},
		{Node: "n2", Key: "other", Owner: "c2", From: 0, Until: 2000 * ms},
		{Node: "n3", Key: "k1", Owner: "c1", From: 60 * ms, Until: 600 * ms},
	}
	return &History{Events: events, header: *events[0].Header, leases: leases, ownerships: ownerships}
}

func TestDrawings(t *testing.T) {
	h := pauseHistory()
	violation := &checker.Violation{Key: "k1", From: 1250 * ms, Until: 1500 * ms, Processes: []string{"c2"},
		Facts: []checker.Fact{{Time: 600 * ms, Process: "n3", Event: 4}}}
	golden.Require(t, "testdata/lanes.golden", h.Tell(nil).Draw(terminal.Screen{Width: 76}))
	golden.Require(t, "testdata/lanes-violation.golden", h.Tell(violation).Draw(terminal.Screen{Width: 76}))
}

func TestTell_Violation_ShowsItsWindow(t *testing.T) {
	h := pauseHistory()
	v := &checker.Violation{Key: "k1", From: 1300 * ms, Until: 1400 * ms, Leases: h.leases[1:]}
	story := h.Tell(v)
	require.Equal(t, 875*ms, story.From, "from the asking of the lease, less an eighth of the TTL")
	require.Equal(t, 2000*ms, story.Until, "no further than the end of the history")
	var texts []string
	for _, m := range story.Marks {
		texts = append(texts, Moment(m.Time)+" "+m.Text)
	}
	require.Equal(t, []string{
		`1.000000 s c2 begins to acquire "k1"`,
		"1.050000 s c1's key expires on n1",
		"1.090000 s c1's lease expires (its own view)",
		"1.250000 s c2 is granted the lock by n1; lease valid for 990 ms (by its own clock)",
		"1.600000 s c1 resumes",
	}, texts)
}

// Two attempts with one token lose their keys apart: the story tells each, and no node twice in one.
func TestTell_OneTokenExpiresTwice_TwoTurns(t *testing.T) {
	h := &History{header: history.Header{Clients: []string{"c1"}, Nodes: []string{"n1", "n2"}, TTL: 100 * ms},
		Events: []history.Event{{Time: 400 * ms, Type: history.TypeEnd}}, leases: []checker.Lease{{Key: "k1"}}}
	for node, until := range map[string][]int64{"n1": {110, 310}, "n2": {111}} {
		for _, end := range until {
			h.ownerships = append(h.ownerships, checker.Ownership{Key: "k1", Node: node, Owner: "c1", Token: "t",
				From: (end - 100) * ms, Until: end * ms, Ended: checker.OwnershipExpired})
		}
	}
	var said []string
	for _, m := range h.Tell(nil).Marks {
		said = append(said, m.Text)
	}
	require.Equal(t, []string{"c1's key expires on n1 and n2, one after the other", "c1's key expires on n1"}, said)
}

func TestTell_DrawsParticipantsFirst(t *testing.T) {
	h := &history.Header{}
	var leases []checker.Lease
	for _, c := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		h.Clients = append(h.Clients, c)
		leases = append(leases, checker.Lease{Client: c, Key: "k1", From: 0, Until: 10})
	}
	events := []history.Event{{Type: history.TypeHeader, Header: h}, {Time: 10, Type: history.TypeEnd}}
	story := (&History{Events: events, header: *h, leases: leases}).Tell(&checker.Violation{Key: "k1", Until: 10,
		Processes: []string{"z", "nemesis", "y"}})
	var names []string
	for _, lane := range story.Clients {
		names = append(names, lane.Name)
	}
	require.Equal(t, []string{"a", "b", "c", "d", "e", "f", "y", "z"}, names)
}

func TestTell_BackgroundFaults_OneSentence(t *testing.T) {
	cut := func(target string, phase history.Phase, setting bool) history.Event {
		return history.Event{Time: 5, Type: history.TypeFault, Fault: &history.Fault{
			Kind: "cut", Targets: []string{target}, Phase: phase, Effective: true, Background: setting,
			Asked: history.Asked{Direction: history.Both}}}
	}
	story := (&History{Events: []history.Event{
		cut("c1-n4", history.PhaseBegin, true), cut("c1-n5", history.PhaseBegin, true),
		cut("c2-n1", history.PhaseBegin, false), cut("c2-n2", history.PhaseBegin, false),
		cut("c1-n4", history.PhaseEnd, true),
	}}).Tell(nil)
	require.Equal(t, []string{"c1 cannot reach n4 and n5"}, story.Settings)
	require.Equal(t, []Mark{{Time: 5, Event: 2, Process: "c2-n1", Text: "the links c2-n1 and c2-n2 are cut"}}, story.Marks)
	band := Band{From: 5, Until: 5, Kind: "cut", Targets: []string{"c2-n1", "c2-n2"}, Text: "cut c2-n1 and c2-n2"}
	require.Equal(t, []Band{band}, story.Faults)
}

// Unknown kinds and faults without an effect; package nemesis tests the other texts.
func TestFaultText(t *testing.T) {
	for want, fault := range map[string]history.Fault{
		"n1, n2 and n3 are killed (SIGKILL)": {Kind: "kill", Targets: []string{"n1", "n2", "n3"},
			Effective: true},
		"c1 is paused (SIGSTOP), but it did not take effect": {Kind: "pause", Targets: []string{"c1"}},
		"c1 resumes after a pause of 1.02 s": {Kind: "pause", Targets: []string{"c1"}, Phase: history.PhaseEnd,
			Effective: true,
			Measured:  map[string]string{"stopped for": "1.02359s"}},
		"the link c1-n1 is delayed by 40 ms, towards the node only": {Kind: "delay", Targets: []string{"c1-n1"},
			Effective: true,
			Asked:     history.Asked{By: history.Duration(40 * ms), Direction: history.ToNode}},
		"full-disk n1: free 0 bytes": {Kind: "full-disk", Targets: []string{"n1"}, Effective: true,
			Measured: map[string]string{"free": "0 bytes"}},
	} {
		require.Equal(t, want, faultText(fault, fault.Targets))
	}
}

// No history makes a line wider than the screen or causes a panic.
func TestDraw_AnyHistory_FitsTheScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		time := rapid.Int64Range(0, 5000*ms)
		name := rapid.SampledFrom([]string{"c1", "c2", "a-client-with-quite-a-long-name", ""})
		header := history.Header{Clients: []string{"c1", "c2", "a-client-with-quite-a-long-name"}, Nodes: []string{"n1"}}
		events := []history.Event{{Type: history.TypeHeader, Header: &header}}
		var leases []checker.Lease
		var ownerships []checker.Ownership
		for range rapid.IntRange(0, 15).Draw(t, "n") {
			from, until := time.Draw(t, "from"), time.Draw(t, "until")
			leases = append(leases, checker.Lease{Client: name.Draw(t, "client"), Key: "k1", From: from, Until: until})
			ownerships = append(ownerships, checker.Ownership{Node: "n1", Key: "k1", Owner: name.Draw(t, "owner"), From: from,
				Until: until})
			events = append(events, history.Event{Time: from, Type: history.TypeFault, Fault: &history.Fault{
				Kind: "pause", Class: history.NodePaused, Targets: []string{name.Draw(t, "target")},
				Phase: history.PhaseBegin, Effective: true}})
		}
		var v *checker.Violation
		if rapid.Bool().Draw(t, "violation") {
			v = &checker.Violation{Key: "k1", From: time.Draw(t, "from"), Until: time.Draw(t, "until"),
				Processes: []string{"c1"}}
		}
		h := &History{Events: events, header: header, leases: leases, ownerships: ownerships}
		width := rapid.IntRange(40, 140).Draw(t, "width")
		for line := range strings.Lines(h.Tell(v).Draw(terminal.Screen{Width: width})) {
			require.LessOrEqual(t, terminal.Width(strings.TrimRight(line, "\n")), width, "%q", line)
		}
	})
}

// The sentence names only what the lanes show: a pause over the end of the lease, a write after it, or neither.
func TestHeadline_LostUpdate_NamesItsCause(t *testing.T) {
	v := &checker.Violation{From: 50, Until: 55, Processes: []string{"c2", "c1"}}
	lease := Stretch{From: 10, Until: 40, State: Holding}
	for want, stretches := range map[string][]Stretch{
		"c1 slept through the end of its lease, woke, and overwrote c2's update": {lease,
			{From: 20, Until: 45, State: Paused}},
		"c1 wrote after the end of its lease and overwrote c2's update": {lease,
			{From: 42, Until: 45, State: Paused}},
		"c1 overwrote c2's update": {{From: 10, Until: 90, State: Holding}},
	} {
		s := Story{Clients: []Lane{{Name: "c1", Stretches: stretches}},
			Store: Lane{Points: []Point{{Time: 60, Kind: PointUndoing, Owner: "c1", Victim: "c2"}}}}
		require.Equal(t, want, s.Headline(v))
		require.Empty(t, s.Headline(nil))
		require.Empty(t, s.Headline(&checker.Violation{From: 50, Until: 55, Processes: []string{"c3", "c4"}}))
	}
}

func TestStepText(t *testing.T) {
	steps := [][2]string{
		{"{acquire: c1, reaching: [n1, n2, n3], must: ok}",
			"c1 acquires k1, from here on reaching only n1, n2 and n3; it must succeed"},
		{"{acquire: c2, key: k2, async: true, within: 2 ttl}", "c2 acquires k2, within 2 ttl, in the background"},
		{"{await: c2, must: ok}", "wait for the outcome of c2; it must succeed"},
		{"{write: c1, key: k2, must: fail}", "c1 writes the protected data of k2; it must fail"},
		{"{wait: 1.2 ttl + 50ms}", "wait 1.2 ttl + 50ms"},
		{"{until: c1-n3, of: SET}", "wait until n3 has answered c1's SET"},
		{"{until: [c1-n1, c1-n2, c2-n3], of: SET}",
			"wait until n1 and n2 have answered c1's SET and n3 has answered c2's SET"},
		{"{release: c1, thread: b, if-held: true}", "c1 (thread b) releases the lock, if it holds the lock"},
		{"{extend: c1, if-supported: true}", "c1 extends its lease, if the lock can"},
		{"{kill: n3, after: 0.5 ttl}", "kill n3 (SIGKILL), and start again after 0.5 ttl"},
		{"{pause: [c1, n2], for: 1.5 ttl}", "pause c1 and n2 (SIGSTOP) for 1.5 ttl"},
		{"{delay: c1-n1, by: 0.1 ttl}", "delay c1-n1 by 0.1 ttl one way"},
		{"{clock: c1, jump: -1 ttl, rate: 0.8}",
			"let the clock of c1 jump back by 1 ttl and run at 0.8 times the true rate"},
		{"{hold: c1-n3, of: SET, part: reply, times: 2}", "hold the reply to the next 2 SET on c1-n3"},
		{"{drop: c1-n3, of: EVAL, part: command}", "drop the next EVAL on c1-n3 and close the connection"},
	}
	text := "name: a\ntitle: A\nsource: a test\nlesson: None.\nclients: 2\nexpect: {fencing: holds}\nscript:\n"
	for _, step := range steps {
		text += "- " + step[0] + "\n"
	}
	s, err := scenarios.Parse("a.yaml", []byte(text))
	require.NoError(t, err)
	for i, step := range steps {
		require.Equal(t, step[1], StepText(s.Script[i]))
	}
}

// No verb is shown as in the file.
func TestStepText_EveryVerb_HasWords(t *testing.T) {
	for _, usage := range scenarios.Usages() {
		step := scenarios.Step{Verb: usage.Verb, Targets: []string{"x"}, Of: "SET", Jump: scenarios.Span{TTLs: 1}}
		require.NotEqual(t, string(usage.Verb)+": x", action(step), "give %s words in this package", usage.Verb)
	}
}

func TestRandomText(t *testing.T) {
	require.Equal(t, "every 1 ttl to 2 ttl: pause 1 of n1, n2 and n3 (SIGSTOP) for 0.5 ttl", RandomText(scenarios.Random{
		Step: scenarios.Step{Verb: nemesis.Pause, Targets: []string{"n1", "n2", "n3"}}, Count: 1,
		Every: scenarios.Range{Min: scenarios.Span{TTLs: 1}, Max: scenarios.Span{TTLs: 2}},
		Lasts: scenarios.Range{Min: scenarios.Span{TTLs: 0.5}, Max: scenarios.Span{TTLs: 0.5}},
	}))
}
