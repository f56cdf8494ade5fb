package trial

import (
	"context"
	"fmt"
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
)

// judged runs a scenario in virtual time and returns its history and verdicts.
func judged(t *testing.T, text string) ([]history.Event, []checker.Result) {
	t.Helper()
	j, err := NewJournal(JournalOptions{Virtual: true})
	require.NoError(t, err)
	runVirtual(t, planned(t, Job{Scenario: parsed(t, text)}, virtual.Kind, 0), j)
	results, err := Judge(j)
	require.NoError(t, err)
	return j.orderedEvents(), results
}

// script is the text of a scenario.
func script(clients int, steps string) string {
	return fmt.Sprintf("clients: %d\nscript: [%s]", clients, steps)
}

func filter(events []history.Event, wanted func(history.Event) bool) (found []history.Event) {
	for _, e := range events {
		if wanted(e) {
			found = append(found, e)
		}
	}
	return found
}

// A scenario's initial links do not count as faults that earn its verdict.
func TestReach_IsBackground(t *testing.T) {
	events, _ := judged(t, `nodes: 3
clients: {c1: {reach: [n1, n2]}, c2: {far: n1, far-delay: 0.01 ttl}}
script: [{acquire: c1, reaching: [n1, n3]}]`)
	begun := map[string]int{}
	for _, e := range filter(events, func(e history.Event) bool { return e.Type == history.TypeFault }) {
		require.True(t, e.Fault.Background, "%s of %s", e.Fault.Kind, e.Fault.Targets)
		if e.Fault.Phase == history.PhaseBegin {
			begun[e.Fault.Kind+" "+e.Fault.Targets[0]]++
		}
	}
	require.Equal(t, map[string]int{"cut c1-n3": 1, "cut c1-n2": 1, "delay c2-n1": 1}, begun)
}

// The history has the failed precondition, later steps do not run, and no property holds.
func TestStep_PreconditionFailed(t *testing.T) {
	for name, steps := range map[string]string{
		"an operation":        "{acquire: c1, must: fail}",
		"one that is awaited": "{acquire: c1, must: fail, async: true}, {await: c1}",
		"an await":            "{acquire: c1, async: true}, {await: c1, must: fail}",
		"what is never sent":  "{acquire: c1}, {until: c1-n1, of: DEL, has: received, within: 0.1 ttl}",
		"what was sent only before the operation": "{acquire: c1}, {wait: 0.1 ttl}, {release: c1}, " +
			"{until: c1-n1, of: SET, has: received, within: 0.1 ttl}",
		"what is never answered": "{acquire: c1}, {until: c1-n1, of: DEL, has: answered, within: 0.1 ttl}",
	} {
		t.Run(name, func(t *testing.T) {
			events, results := judged(t, script(1, steps+", {check: c1}"))
			unmet := filter(events, func(e history.Event) bool { return e.Reason == history.ReasonPreconditionFailed })
			require.Len(t, unmet, 1)
			require.Empty(t, filter(events, func(e history.Event) bool { return e.Op == history.OpCheck }),
				"the run shows nothing more")
			for _, r := range results {
				require.NotEqual(t, history.Holds, r.Verdict, r.Property)
			}
		})
	}
}

// Without a timeout in the step, the default applies.
func TestOperation_Timeout(t *testing.T) {
	for within, lasts := range map[string]time.Duration{", within: 0.4 ttl": 400 * time.Millisecond, "": 4 * time.Second} {
		t.Run("acquire"+within, func(t *testing.T) {
			events, _ := judged(t, "clients: {c1: {}, c2: {ttl: 10 ttl}}\nscript: [{acquire: c2, must: ok}, "+
				"{acquire: c1, must: fail"+within+"}]")
			asked := filter(events, func(e history.Event) bool { return e.Process == "c1" && e.Op == history.OpAcquire })
			require.Len(t, asked, 2)
			require.InDelta(t, lasts, asked[1].Time-asked[0].Time, float64(time.Millisecond))
		})
	}
}

// The second inspection sees a command that a fault held until the end.
func TestFinish_InspectsNodesAtTheEnd(t *testing.T) {
	events, _ := judged(t, script(1, "{acquire: c1, must: ok}, {hold: c1-n1, of: release, part: command}, "+
		"{release: c1, async: true}"))
	looks := filter(events, func(e history.Event) bool { return e.Type == history.TypeNode })
	require.Len(t, looks, 2)
	require.Empty(t, looks[0].Node.Keys)
	released := filter(events, func(e history.Event) bool { return e.Type == history.TypeReply && e.Command.Done })
	require.Len(t, released, 2, "the key was taken and given back")
	require.Greater(t, looks[1].Time, released[1].Time)
	require.Empty(t, looks[1].Node.Keys)
	require.Equal(t, history.TypeEnd, events[len(events)-1].Type)
}

// Without an end event, a later judgement of the history is inconclusive.
func TestRun_CancelledHasNoEndEvent(t *testing.T) {
	j, err := NewJournal(JournalOptions{Virtual: true})
	require.NoError(t, err)
	maker, err := virtual.Kind.Open(t.Context(), cluster.Choice{}, io.Discard)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Run(ctx, planned(t, Job{Scenario: parsed(t, "")}, virtual.Kind, 0), maker, 0, 1, j)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, j.End())
	require.Equal(t, history.TypeHeader, j.orderedEvents()[0].Type)
	require.Empty(t, filter(j.orderedEvents(), func(e history.Event) bool { return e.Type == history.TypeEnd }))
}

// A step starts after the event that the step before waited for: c2 still has the lock when c3 acquires it.
func TestScript_CauseBeforeEffect(t *testing.T) {
	_, results := judged(t, "lock: {name: plain-del}\n"+script(3, "{acquire: c1}, {wait: 1.2 ttl}, {acquire: c2}, "+
		"{release: c1}, {acquire: c3}, {release: c2}"))
	require.Equal(t, history.Violated, results[0].Verdict, "%s: %s", results[0].Property, results[0].Reason)
}

// A write with a lost reply overwrites another client's. Even if it is overwritten or never read, the store's order of
// commands shows it.
func TestWrite_LostReply_IsJudgedByTheStore(t *testing.T) {
	for name, more := range map[string]string{"as the last": "", "overwritten": ", {write: c2}"} {
		t.Run(name, func(t *testing.T) {
			_, results := judged(t, script(2, "{acquire: c1}, {read: c1}, {wait: 1.1 ttl}, {acquire: c2}, {read: c2}, "+
				"{write: c2}, "+losesReply+", {write: c1}"+more))
			i := slices.IndexFunc(results, func(r checker.Result) bool { return r.Property == checker.ProtectedData })
			require.Equal(t, history.Violated, results[i].Verdict, results[i].Reason)
		})
	}
}

// losesReply drops the reply to c1's write.
const losesReply = "{drop: c1-store, of: SET, part: reply}"

// Even a register without an acknowledged write is read at the end.
func TestFinish_ReadsEachRegister(t *testing.T) {
	events, _ := judged(t, script(1, "{acquire: c1}, {write: c1}, {acquire: c1, key: k2}, "+losesReply+
		", {write: c1, key: k2}"))
	read := map[string]string{}
	for _, e := range filter(events, func(e history.Event) bool {
		return e.Process == "harness" && e.Op == history.OpRead && e.Type == history.TypeOK
	}) {
		read[e.Key] = e.Value
	}
	require.Equal(t, map[string]string{"k1": "c1.1", "k2": "c1.2"}, read)
}

// puppet is a worker that its test controls, and a cluster that starts only it.
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
	_, err = c.awaitReply(context.Background(), "c1", done, time.Millisecond)
	require.ErrorIs(t, err, errNoReply)

	c, p := started(t)
	done, err = c.send("c1", client.Command{Do: client.DoAcquire})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = c.awaitReply(ctx, "c1", done, time.Minute)
	require.ErrorIs(t, err, context.Canceled)
	p.obey = func(cmd client.Command) { p.say(client.Message{Done: cmd.Serial, Error: "no such lock"}) }
	done, err = c.send("c1", client.Command{Do: client.DoAcquire})
	require.NoError(t, err)
	_, err = c.awaitReply(context.Background(), "c1", done, time.Minute)
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

func TestCommand_ReplyWithoutReading_Fails(t *testing.T) {
	c, p := started(t)
	p.obey = func(cmd client.Command) { p.say(client.Message{Done: cmd.Serial}) }
	_, err := c.SetClock(context.Background(), "c1", 0, 2)
	require.EqualError(t, err, "client c1 has not read its clocks")
	require.NoError(t, c.Starve(context.Background(), "c1"))
	_, err = c.Feed(context.Background(), "c1")
	require.EqualError(t, err, "client c1 has not told what was late")
}

// An experiment leaves a fault out, or ends all faults early. A step that ends it must not fail the trial, and must
// still end the faults that stay. Nor must a step fail it that needs a lease, if its client was granted none.
func TestSkipIdleSteps_ScriptGoesOn(t *testing.T) {
	for name, test := range map[string]struct {
		steps string
		job   Job
		ended []string
	}{
		"the fault is left out": {"{resume: n1}, {heal: c1-n1}, {let-go: c1-n1}, {start: n1}, {acquire: c1}", Job{},
			nil},
		"one of two is left out": {"{pause: n2, for: 1 ttl}, {resume: [n1, n2]}, {acquire: c1}", Job{},
			[]string{"pause n2"}},
		"a delay that stays": {"{delay: c1-n1, by: 1ms}, {heal: c1-n1}, {acquire: c1}", Job{}, []string{"delay c1-n1"}},
		"all faults have ended": {"{pause: n1}, {wait: 0.2 ttl}, {resume: n1}, {acquire: c1}",
			Job{FaultsUntil: 100 * time.Millisecond}, []string{"pause n1"}},
		"the client was not granted the lock": {"{pause: [n1, n2]}, {acquire: c1, within: 0.1 ttl}, {write: c1}, " +
			"{extend: c1, async: true}, {await: c1}, {resume: [n1, n2]}, {release: c1}, {acquire: c1}", Job{},
			[]string{"pause n1", "pause n2"}},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := NewJournal(JournalOptions{Virtual: true})
			require.NoError(t, err)
			test.job.SkipIdleSteps = true
			test.job.Scenario = parsed(t, "nodes: 2\n"+script(1, test.steps))
			runVirtual(t, planned(t, test.job, virtual.Kind, 0), j)
			var ended []string
			granted := false
			for _, e := range j.orderedEvents() {
				if e.Fault != nil && e.Fault.Phase == history.PhaseEnd {
					ended = append(ended, e.Fault.Kind+" "+e.Fault.Targets[0])
				}
				granted = granted || e.Op == history.OpAcquire && e.Type == history.TypeOK
			}
			require.Equal(t, test.ended, ended)
			require.True(t, granted, "the script goes on")
		})
	}
}
