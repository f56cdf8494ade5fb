package trial

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/scenarios"
)

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

func started(t *testing.T) (*clientGroup, *puppet, *[]history.Event) {
	t.Helper()
	p, events := &puppet{}, &[]history.Event{}
	c := newClientGroup(p, func(e history.Event) { *events = append(*events, e) })
	require.NoError(t, c.start(context.Background(), client.Setup{Name: "c1"}))
	return c, p, events
}

func TestAwaitReply_MatchesSerial(t *testing.T) {
	c, p, _ := started(t)
	var sent []client.Command
	p.obey = func(cmd client.Command) { sent = append(sent, cmd) }
	first, err := c.send("c1", client.Command{Do: client.DoAcquire})
	require.NoError(t, err)
	second, err := c.send("c1", client.Command{Do: client.DoCancel})
	require.NoError(t, err)
	p.say(client.Message{Done: sent[1].Serial})
	p.say(client.Message{Done: sent[0].Serial, Outcome: history.TypeFail})
	msg, err := c.awaitReply(context.Background(), "c1", "acquire", first, time.Second)
	require.NoError(t, err)
	require.Equal(t, history.TypeFail, msg.Outcome)
	_, err = c.awaitReply(context.Background(), "c1", "acquire", second, time.Second)
	require.NoError(t, err)
}

func TestAwaitReply_Timeout(t *testing.T) {
	c, _, _ := started(t)
	done, err := c.send("c1", client.Command{Do: client.DoAcquire})
	require.NoError(t, err)
	_, err = c.awaitReply(context.Background(), "c1", "acquire", done, time.Millisecond)
	require.ErrorIs(t, err, errClientFailed)
	require.EqualError(t, c.firstFailure(), "client c1: its acquire has not returned for 1ms")
	_, err = c.awaitReply(context.Background(), "c1", "acquire", done, time.Hour)
	require.ErrorIs(t, err, errClientFailed, "nobody waits for long again")

	c, p, _ := started(t)
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
	c, p, _ := started(t)
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
	c, p, _ := started(t)
	p.say(client.Message{Error: "exit status 3"})
	require.EqualError(t, c.firstFailure(), "client c1: exit status 3")
}

func TestClientEvents_AreRecorded(t *testing.T) {
	c, p, events := started(t)
	wall := history.Event{Time: 30, Process: "c1", Type: history.TypeClock, Clock: &history.Clock{Reading: 1030, Rate: 0.8, Wall: true}}
	mono := history.Event{Time: 31, Process: "c1", Type: history.TypeClock, Clock: &history.Clock{Reading: 25, Rate: 0.8}}
	p.obey = func(cmd client.Command) {
		require.Equal(t, client.DoClock, cmd.Do)
		for _, e := range []history.Event{wall, mono} {
			p.say(client.Message{Event: &e})
		}
		p.say(client.Message{Done: cmd.Serial})
	}
	reading, err := c.SetClock(context.Background(), "c1", 1000, 0)
	require.NoError(t, err)
	require.Equal(t, int64(30), reading.True)
	require.Equal(t, int64(1030), reading.Wall)
	require.Equal(t, int64(25), reading.Monotonic)
	require.Equal(t, 0.8, reading.Rate)
	require.Equal(t, []history.Event{wall, mono}, *events)
	require.Equal(t, int64(31), c.LastEventTime("c1"))
	require.Zero(t, c.LastEventTime("c9"))
}

func TestSetClock_NoReading(t *testing.T) {
	c, p, _ := started(t)
	p.obey = func(cmd client.Command) { p.say(client.Message{Done: cmd.Serial}) }
	_, err := c.SetClock(context.Background(), "c1", 0, 2)
	require.EqualError(t, err, "client c1 has not read its clocks")
}

func TestFeed_NothingTold(t *testing.T) {
	c, p, _ := started(t)
	p.obey = func(cmd client.Command) { p.say(client.Message{Done: cmd.Serial}) }
	require.NoError(t, c.Starve(context.Background(), "c1"))
	_, err := c.Feed(context.Background(), "c1")
	require.EqualError(t, err, "client c1 has not told what was late")
	_, err = c.Feed(context.Background(), "c9")
	require.EqualError(t, err, "there is no client c9")
}

// What an await demands is of the last that its client has under way; of the others what their steps do.
func TestAwait_OutcomeMismatch_FailsPrecondition(t *testing.T) {
	for name, c := range map[string]struct {
		first, must string
		met         bool
	}{
		"the last is as it must be": {"", "ok", true},
		"the last is not":           {"", "fail", false},
		"the first is not":          {"ok", "ok", false},
	} {
		t.Run(name, func(t *testing.T) {
			g, _, _ := started(t)
			r := &run{plan: &Plan{Scenario: &scenarios.Scenario{}}, clients: g, pending: map[string][]pending{}}
			for i, outcome := range []history.Type{history.TypeFail, history.TypeOK} {
				done := make(chan client.Message, 1)
				done <- client.Message{Outcome: outcome}
				p := pending{done: done}
				if i == 0 {
					p.must = c.first
				}
				r.pending["c1"] = append(r.pending["c1"], p)
			}
			err := r.await(t.Context(), "c1", c.must)
			require.Equal(t, c.met, err == nil, err)
			require.Equal(t, !c.met, errors.Is(err, errPrecondition))
		})
	}
}
