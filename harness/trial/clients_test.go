package trial

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
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
