package reports

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"lockproof/checker"
	"lockproof/harness/history"
)

// pauseHistory is Kleppmann's first example: c1 acquires, is paused beyond its
// deadline, and c2 acquires meanwhile; n3 is killed and comes back.
func pauseHistory() ([]history.Event, []checker.Lease, []checker.Tenure) {
	fault := func(at int64, id int, kind string, phase history.Phase, target string, measured map[string]string) history.Event {
		return history.Event{Time: at * ms, Process: "nemesis", Type: history.TypeFault, Fault: &history.Fault{
			ID: id, Kind: kind, Phase: phase, Targets: []string{target}, Measured: measured, Effective: true}}
	}
	acquire := func(at int64, client string, kind history.Type) history.Event {
		return history.Event{Time: at * ms, Process: client, Type: kind, Op: history.OpAcquire, ID: 1, Key: "k1"}
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
		{Client: "c1", ID: 1, Key: "k1", Asked: 10 * ms, From: 100 * ms, Until: 1090 * ms},
		{Client: "c2", ID: 1, Key: "k1", Asked: 1000 * ms, From: 1250 * ms, Until: 2000 * ms},
	}
	tenures := []checker.Tenure{
		{Node: "n1", Key: "k1", Owner: "c1", From: 50 * ms, Until: 1050 * ms},
		{Node: "n1", Key: "k1", Owner: "c2", From: 1200 * ms, Until: 2000 * ms},
		{Node: "n2", Key: "k1", Owner: "nobody", From: 50 * ms, Until: 1050 * ms},
		{Node: "n2", Key: "other", Owner: "c2", From: 0, Until: 2000 * ms},
		{Node: "n3", Key: "k1", Owner: "c1", From: 60 * ms, Until: 600 * ms},
	}
	return events, leases, tenures
}

func TestDrawings(t *testing.T) {
	events, leases, tenures := pauseHistory()
	violation := &checker.Violation{Key: "k1", From: 1250 * ms, Until: 1500 * ms, Processes: []string{"c2"},
		Blame: &checker.Blame{Time: 600 * ms, Process: "n3"}}
	golden(t, "lanes.golden", Tell(events, leases, tenures, nil).Draw(Screen{Width: 76, UTF8: true}))
	golden(t, "lanes-ascii.golden", Tell(events, leases, tenures, nil).Draw(Screen{Width: 76}))
	golden(t, "lanes-violation.golden", Tell(events, leases, tenures, violation).Draw(Screen{Width: 76, UTF8: true}))
}

func TestTellShowsTheViolationsOwnWindow(t *testing.T) {
	events, leases, tenures := pauseHistory()
	v := &checker.Violation{Key: "k1", From: 1300 * ms, Until: 1400 * ms, Leases: leases[1:]}
	story := Tell(events, leases, tenures, v)
	require.Equal(t, 875*ms, story.From, "from the asking of the lease, less an eighth of the TTL")
	require.Equal(t, 2000*ms, story.Until, "no further than the end of the history")
	require.Equal(t, []Mark{{1600 * ms, "pause c1 ends"}}, story.Marks)
}

func TestTellDrawsThoseWhoTookPartFirst(t *testing.T) {
	h := &history.Header{}
	var leases []checker.Lease
	for _, c := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		h.Clients = append(h.Clients, c)
		leases = append(leases, checker.Lease{Client: c, Key: "k1", From: 0, Until: 10})
	}
	events := []history.Event{{Type: history.TypeHeader, Header: h}, {Time: 10, Type: history.TypeEnd}}
	story := Tell(events, leases, nil, &checker.Violation{Key: "k1", Until: 10, Processes: []string{"z", "nemesis", "y"}})
	var names []string
	for _, lane := range story.Clients {
		names = append(names, lane.Name)
	}
	require.Equal(t, []string{"a", "b", "c", "d", "e", "f", "y", "z"}, names)
}

func TestSettingsAreToldOnceAndTogether(t *testing.T) {
	cut := func(target string, phase history.Phase, setting bool) history.Event {
		return history.Event{Time: 5, Type: history.TypeFault, Fault: &history.Fault{
			Kind: "cut", Targets: []string{target}, Phase: phase, Effective: true, Setting: setting,
			Asked: map[string]string{"direction": "both"}}}
	}
	story := Tell([]history.Event{
		cut("c1-n4", history.PhaseBegin, true), cut("c1-n5", history.PhaseBegin, true),
		cut("c2-n1", history.PhaseBegin, false), cut("c2-n2", history.PhaseBegin, false),
		cut("c1-n4", history.PhaseEnd, true),
	}, nil, nil, nil)
	require.Equal(t, []string{"cut c1-n4 and c1-n5"}, story.Settings)
	require.Equal(t, []Mark{{5, "cut c2-n1 and c2-n2"}}, story.Marks)
}

func TestFaultText(t *testing.T) {
	tests := []struct {
		fault history.Fault
		want  string
	}{
		{history.Fault{Kind: "kill", Targets: []string{"n1", "n2", "n3"}, Phase: history.PhaseInstant, Effective: true}, "kill n1, n2 and n3"},
		{history.Fault{Kind: "clock", Targets: []string{"n3"}, Effective: true,
			Asked: map[string]string{"jump": "1s"}, Measured: map[string]string{"rate": "1", "jump": "1.01s"}}, "clock n3 (jump 1.01s, rate 1)"},
		{history.Fault{Kind: "pause", Targets: []string{"c1"}, Asked: map[string]string{"for": "1s"}}, "pause c1 (asked: for 1s), but it did not take effect"},
	}
	for _, tt := range tests {
		marks := merged([]history.Event{{Fault: &tt.fault}})
		require.Equal(t, []Mark{{0, tt.want}}, marks)
	}
}

// Whatever the history, no line is wider than the screen and nothing panics.
func TestDrawKeepsToTheScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		time := rapid.Int64Range(0, 5000*ms)
		name := rapid.SampledFrom([]string{"c1", "c2", "a-client-with-quite-a-long-name", ""})
		var events []history.Event
		if rapid.Bool().Draw(t, "header") {
			events = append(events, history.Event{Type: history.TypeHeader, Header: &history.Header{
				Clients: []string{"c1", "c2", "a-client-with-quite-a-long-name"}, Nodes: []string{"n1"}}})
		}
		var leases []checker.Lease
		var tenures []checker.Tenure
		for range rapid.IntRange(0, 15).Draw(t, "n") {
			from, until := time.Draw(t, "from"), time.Draw(t, "until")
			leases = append(leases, checker.Lease{Client: name.Draw(t, "client"), Key: "k1", From: from, Until: until})
			tenures = append(tenures, checker.Tenure{Node: "n1", Key: "k1", Owner: name.Draw(t, "owner"), From: from, Until: until})
			events = append(events, history.Event{Time: from, Type: history.TypeFault, Fault: &history.Fault{
				Kind: "pause", Targets: []string{name.Draw(t, "target")}, Phase: history.PhaseBegin, Effective: true}})
		}
		var v *checker.Violation
		if rapid.Bool().Draw(t, "violation") {
			v = &checker.Violation{Key: "k1", From: time.Draw(t, "from"), Until: time.Draw(t, "until"), Processes: []string{"c1"}}
		}
		width := rapid.IntRange(40, 140).Draw(t, "width")
		for line := range strings.Lines(Tell(events, leases, tenures, v).Draw(Screen{Width: width, UTF8: true})) {
			require.LessOrEqual(t, lipgloss.Width(strings.TrimRight(line, "\n")), width, "%q", line)
		}
	})
}
