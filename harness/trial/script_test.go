package trial

import (
	"context"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

// told runs a scenario in virtual time, and gives its history and its verdicts.
func told(t *testing.T, change func(*scenarios.Scenario)) ([]history.Event, []checker.Result) {
	t.Helper()
	s := *plain()
	change(&s)
	j, err := NewJournal(JournalOptions{Virtual: true})
	require.NoError(t, err)
	runVirtual(t, planned(t, Job{Scenario: &s}, Settings{On: virtual.Kind}), j)
	results, err := Judge(j)
	require.NoError(t, err)
	return j.orderedEvents(), results
}

// only gives the events that are wanted.
func only(events []history.Event, wanted func(history.Event) bool) (found []history.Event) {
	for _, e := range events {
		if wanted(e) {
			found = append(found, e)
		}
	}
	return found
}

func ttls(n float64) scenarios.Span { return scenarios.Span{TTLs: n} }

// Who reaches whom is the scenario's setting and no fault that it has earned its verdict by.
func TestReach_IsBackground(t *testing.T) {
	events, _ := told(t, func(s *scenarios.Scenario) {
		s.Nodes = []string{"n1", "n2", "n3"}
		s.Clients = []scenarios.Client{
			{Name: "c1", Reach: []string{"n1", "n2"}},
			{Name: "c2", FarNodes: []string{"n1"}, FarDelay: ttls(0.01)},
		}
		s.Script = []scenarios.Step{{Verb: scenarios.VerbAcquire, Targets: []string{"c1"}, Key: "k",
			Reaching: []string{"n1", "n3"}}}
	})
	begun := map[string]int{}
	for _, e := range only(events, func(e history.Event) bool { return e.Type == history.TypeFault }) {
		require.True(t, e.Fault.Background, "%s of %s", e.Fault.Kind, e.Fault.Targets)
		if e.Fault.Phase == history.PhaseBegin {
			begun[e.Fault.Kind+" "+e.Fault.Targets[0]]++
		}
	}
	require.Equal(t, map[string]int{"cut c1-n3": 1, "cut c1-n2": 1, "delay c2-n1": 1}, begun)
}

// Of a step that does not come out as it must, the history says so, the steps that follow do
// not come, and nothing is said to hold.
func TestStep_PreconditionFailed(t *testing.T) {
	acquire := scenarios.Step{Verb: scenarios.VerbAcquire, Targets: []string{"c1"}, Key: "k"}
	with := func(change func(*scenarios.Step)) scenarios.Step { s := acquire; change(&s); return s }
	for name, steps := range map[string][]scenarios.Step{
		"an operation": {with(func(s *scenarios.Step) { s.Must = "fail" })},
		"one that is awaited": {with(func(s *scenarios.Step) { s.Must, s.Async = "fail", true }),
			{Verb: scenarios.VerbAwait, Targets: []string{"c1"}}},
		"an await": {with(func(s *scenarios.Step) { s.Async = true }),
			{Verb: scenarios.VerbAwait, Targets: []string{"c1"}, Must: "fail"}},
		"what is never sent": {acquire, {Verb: scenarios.VerbUntil, Targets: []string{"c1-n1"}, Of: "DEL", Has: "received",
			Within: ttls(0.1)}},
		"what was sent only before the operation": {acquire,
			{Verb: scenarios.VerbWait, Wait: ttls(0.1)}, {Verb: scenarios.VerbRelease, Targets: []string{"c1"}, Key: "k"},
			{Verb: scenarios.VerbUntil, Targets: []string{"c1-n1"}, Of: "SET", Has: "received", Within: ttls(0.1)}},
		"what is never answered": {acquire, {Verb: scenarios.VerbUntil, Targets: []string{"c1-n1"}, Of: "DEL",
			Has: "answered", Within: ttls(0.1)}},
	} {
		t.Run(name, func(t *testing.T) {
			events, results := told(t, func(s *scenarios.Scenario) {
				s.Script = append(steps, scenarios.Step{Verb: scenarios.VerbCheck, Targets: []string{"c1"}})
			})
			unmet := only(events, func(e history.Event) bool { return e.Reason == history.ReasonPreconditionFailed })
			require.Len(t, unmet, 1)
			require.Empty(t, only(events, func(e history.Event) bool { return e.Op == history.OpCheck }),
				"the run shows nothing more")
			for _, r := range results {
				require.NotEqual(t, history.Holds, r.Verdict, r.Property)
			}
		})
	}
}

// An operation goes on for as long as its step says, and without that no caller waits for ever.
func TestOperation_Timeout(t *testing.T) {
	for name, c := range map[string]struct {
		within scenarios.Span
		lasts  time.Duration
	}{
		"as the step says": {ttls(0.4), 400 * time.Millisecond},
		"by itself":        {scenarios.Span{}, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			events, _ := told(t, func(s *scenarios.Scenario) {
				s.Clients = []scenarios.Client{{Name: "c1"}, {Name: "c2", TTL: ttls(10)}}
				s.Script = []scenarios.Step{
					{Verb: scenarios.VerbAcquire, Targets: []string{"c2"}, Key: "k", Must: "ok"},
					{Verb: scenarios.VerbAcquire, Targets: []string{"c1"}, Key: "k", Within: c.within, Must: "fail"},
				}
			})
			asked := only(events, func(e history.Event) bool { return e.Process == "c1" && e.Op == history.OpAcquire })
			require.Len(t, asked, 2)
			require.InDelta(t, c.lasts, asked[1].Time-asked[0].Time, float64(time.Millisecond))
		})
	}
}

// The nodes are looked into first and last: what a fault held up until the end has come in by then.
func TestFinish_InspectsNodesAtTheEnd(t *testing.T) {
	events, _ := told(t, func(s *scenarios.Scenario) {
		s.Script = []scenarios.Step{
			{Verb: scenarios.VerbAcquire, Targets: []string{"c1"}, Key: "k", Must: "ok"},
			{Verb: nemesis.Hold, Targets: []string{"c1-n1"}, Of: history.Release, Part: history.PartCommand},
			{Verb: scenarios.VerbRelease, Targets: []string{"c1"}, Key: "k", Async: true},
		}
	})
	looks := only(events, func(e history.Event) bool { return e.Type == history.TypeNode })
	require.Len(t, looks, 2)
	require.Empty(t, looks[0].Node.Keys)
	released := only(events, func(e history.Event) bool { return e.Type == history.TypeReply && e.Command.Done })
	require.Len(t, released, 2, "the key was taken and given back")
	require.Greater(t, looks[1].Time, released[1].Time)
	require.Empty(t, looks[1].Node.Keys)
	require.Equal(t, history.TypeEnd, events[len(events)-1].Type)
}

// A run that is cut short does not say that it has come to its end: what it has recorded shows
// nothing to whoever judges it later.
func TestRun_CancelledHasNoEndEvent(t *testing.T) {
	s := *plain()
	s.Script = []scenarios.Step{{Verb: scenarios.VerbAcquire, Targets: []string{"c1"}, Key: "k"}}
	j, err := NewJournal(JournalOptions{Virtual: true})
	require.NoError(t, err)
	maker, err := virtual.Kind.Open(t.Context(), cluster.Choice{}, io.Discard)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Run(ctx, planned(t, Job{Scenario: &s}, Settings{On: virtual.Kind}), maker, 0, 1, j)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, j.End())
	require.Equal(t, history.TypeHeader, j.orderedEvents()[0].Type)
	require.Empty(t, only(j.orderedEvents(), func(e history.Event) bool { return e.Type == history.TypeEnd }))
}

// A step comes later than what the one before it waited for: c2 still has the lock when c3 is granted it.
func TestScript_CauseBeforeEffect(t *testing.T) {
	_, results := told(t, func(s *scenarios.Scenario) {
		s.Nodes, s.Lock.Name = []string{"n1"}, "plain-del"
		s.Clients = []scenarios.Client{{Name: "c1"}, {Name: "c2"}, {Name: "c3"}}
		acquire := func(c string) scenarios.Step {
			return scenarios.Step{Verb: scenarios.VerbAcquire, Targets: []string{c}, Key: "k"}
		}
		release := func(c string) scenarios.Step {
			return scenarios.Step{Verb: scenarios.VerbRelease, Targets: []string{c}}
		}
		s.Script = []scenarios.Step{acquire("c1"), {Verb: scenarios.VerbWait, Wait: ttls(1.2)}, acquire("c2"), release("c1"),
			acquire("c3"), release("c2")}
	})
	require.Equal(t, history.Violated, results[0].Verdict, "%s: %s", results[0].Property, results[0].Reason)
}

// A write whose reply is lost overwrites another's. Whether somebody writes over it or nobody reads after it: the order
// of the commands at the store tells.
func TestWrite_OfUnknownFate_IsJudgedByTheStore(t *testing.T) {
	step := func(verb scenarios.Verb, client string) scenarios.Step {
		return scenarios.Step{Verb: verb, Targets: []string{client}, Key: "k"}
	}
	for name, more := range map[string][]scenarios.Step{"as the last": nil,
		"overwritten": {step(scenarios.VerbWrite, "c2")}} {
		t.Run(name, func(t *testing.T) {
			_, results := told(t, func(s *scenarios.Scenario) {
				s.Clients = []scenarios.Client{{Name: "c1"}, {Name: "c2"}}
				s.Script = append([]scenarios.Step{
					step(scenarios.VerbAcquire, "c1"), step(scenarios.VerbRead, "c1"), {Verb: scenarios.VerbWait, Wait: ttls(1.1)},
					step(scenarios.VerbAcquire, "c2"), step(scenarios.VerbRead, "c2"), step(scenarios.VerbWrite, "c2"),
					loseReply("c1"), step(scenarios.VerbWrite, "c1"),
				}, more...)
			})
			i := slices.IndexFunc(results, func(r checker.Result) bool { return r.Property == checker.ProtectedData })
			require.Equal(t, history.Violated, results[i].Verdict, results[i].Reason)
		})
	}
}

func loseReply(client string) scenarios.Step {
	return scenarios.Step{Verb: nemesis.Drop, Targets: []string{client + "-store"}, Of: "SET",
		Part: history.PartReply, Times: 1}
}

// Each register that somebody wrote to is read at the end, also if no write to it was acknowledged.
func TestFinish_ReadsEachRegister(t *testing.T) {
	events, _ := told(t, func(s *scenarios.Scenario) {
		for _, key := range []string{"k1", "k2"} {
			s.Script = append(s.Script, scenarios.Step{Verb: scenarios.VerbAcquire, Targets: []string{"c1"}, Key: key},
				scenarios.Step{Verb: scenarios.VerbWrite, Targets: []string{"c1"}, Key: key})
		}
		s.Script = slices.Insert(s.Script, 3, loseReply("c1"))
	})
	read := map[string]string{}
	for _, e := range only(events, func(e history.Event) bool {
		return e.Process == "harness" && e.Op == history.OpRead && e.Type == history.TypeOK
	}) {
		read[e.Key] = e.Value
	}
	require.Equal(t, map[string]string{"k1": "c1.1", "k2": "c1.2"}, read)
}

// puppet is a worker that does what its test says, and a cluster that starts
// only it.
type puppet struct {
	cluster.Cluster
	say    func(client.Message)
	obey   func(client.Command)
	killed int
}

func (p *puppet) Spawn(_ context.Context, _ client.Setup, messages func(client.Message)) (client.Worker, error) {
	p.say = messages
	return p, nil
}

func (p *puppet) Send(c client.Command) error {
	if p.obey != nil {
		p.obey(c)
	}
	return nil
}

func (p *puppet) Pause() error  { return nil }
func (p *puppet) Resume() error { return nil }
func (p *puppet) Kill() error   { p.killed++; return nil }
func (p *puppet) Close() error  { return nil }

func started(t *testing.T) (*clientGroup, *puppet) {
	t.Helper()
	p := &puppet{}
	c := newClientGroup(p, func(history.Event) {})
	require.NoError(t, c.start(context.Background(), client.Setup{Name: "c1"}))
	return c, p
}

func TestAwaitReply_Timeout(t *testing.T) {
	c, _ := started(t)
	done, err := c.send("c1", client.Command{Do: client.DoAcquire})
	require.NoError(t, err)
	_, err = c.awaitReply(context.Background(), "c1", "acquire", done, time.Millisecond)
	require.ErrorIs(t, err, errClientFailed)
	require.EqualError(t, c.firstFailure(), "client c1: its acquire has not returned for 1ms")
	_, err = c.awaitReply(context.Background(), "c1", "acquire", done, time.Hour)
	require.ErrorIs(t, err, errClientFailed, "nobody waits for long again")

	c, p := started(t)
	done, err = c.send("c1", client.Command{Do: client.DoAcquire})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = c.awaitReply(ctx, "c1", "acquire", done, time.Minute)
	require.ErrorIs(t, err, context.Canceled)
	p.obey = func(cmd client.Command) { p.say(client.Message{Done: cmd.Serial, Error: "no such lock"}) }
	done, err = c.send("c1", client.Command{Do: client.DoAcquire})
	require.NoError(t, err)
	_, err = c.awaitReply(context.Background(), "c1", "acquire", done, time.Minute)
	require.EqualError(t, err, "client c1: no such lock")
}

func TestSend_KilledClient(t *testing.T) {
	c, p := started(t)
	require.NoError(t, c.Kill("c1"))
	require.EqualError(t, c.Kill("c1"), "client c1 was killed, and does not come back")
	require.EqualError(t, c.Pause("c1"), "client c1 was killed, and does not come back")
	require.Equal(t, 1, p.killed)
	_, err := c.send("c1", client.Command{Do: client.DoAcquire})
	require.EqualError(t, err, "client c1 was killed, and does not come back")
	p.say(client.Message{Error: "signal: killed"})
	require.NoError(t, c.firstFailure(), "that it ends is what was wanted")
	require.NoError(t, c.close())
	require.EqualError(t, c.Resume("c9"), "there is no client c9")
}

func TestClientExit_IsFailure(t *testing.T) {
	c, p := started(t)
	p.say(client.Message{Error: "exit status 3"})
	require.EqualError(t, c.firstFailure(), "client c1: exit status 3")
}

// A worker may say that it is done, and not say what it was asked for.
func TestAReplyWithoutWhatWasAskedForIsAnError(t *testing.T) {
	c, p := started(t)
	p.obey = func(cmd client.Command) { p.say(client.Message{Done: cmd.Serial}) }
	_, err := c.SetClock(context.Background(), "c1", 0, 2)
	require.EqualError(t, err, "client c1 has not read its clocks")
	require.NoError(t, c.Starve(context.Background(), "c1"))
	_, err = c.Feed(context.Background(), "c1")
	require.EqualError(t, err, "client c1 has not told what was late")
}
