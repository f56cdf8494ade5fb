package clustertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// A cut holds this link's messages in its direction until it heals, and no other link's.
func cuts(t *testing.T, with With) {
	for _, c := range []struct {
		direction history.Direction
		arrives   bool // at the node
	}{{history.Both, false}, {history.ToNode, false}, {history.ToClient, true}} {
		t.Run(string(c.direction), func(t *testing.T) {
			with(t, 1, nil, func(b Bench) {
				db, link := b.Over("c1", "n1"), b.Link("c1", "n1")
				require.NoError(t, db.Ping(ctx).Err())
				require.NoError(t, link.Cut(c.direction))
				sent := sendSet(db, "k1")
				require.NoError(t, b.Sleep(ctx, settle))
				require.True(t, pending(sent), "it is answered through the cut")
				require.Equal(t, c.arrives, hasKey(t, b.Node("n1"), "k1"))
				require.NoError(t, b.Over("c2", "n1").Ping(ctx).Err(), "c2 is not cut off")
				require.NoError(t, link.Heal(c.direction))
				require.NoError(t, <-sent)
				require.True(t, hasKey(t, b.Node("n1"), "k1"))
			})
		})
	}
}

// A delay is added to each message in its direction.
func delays(t *testing.T, with With) {
	const delay = 200 * time.Millisecond
	for _, c := range []struct {
		direction history.Direction
		times     int64
	}{{history.Both, 2}, {history.ToNode, 1}, {history.ToClient, 1}} {
		t.Run(string(c.direction), func(t *testing.T) {
			with(t, 1, nil, func(b Bench) {
				db, link := b.Over("c1", "n1"), b.Link("c1", "n1")
				require.NoError(t, db.Ping(ctx).Err())
				require.NoError(t, link.Delay(c.direction, delay))
				began := b.Now()
				require.NoError(t, db.Ping(ctx).Err())
				require.GreaterOrEqual(t, b.Now()-began, c.times*int64(delay))
				require.NoError(t, link.Delay(c.direction, -delay))
				require.NoError(t, db.Ping(ctx).Err())
			})
		})
	}
}

// parts are the two parts to intercept.
var parts = []struct {
	part    history.Part
	arrives bool // the command, at the node
}{{history.PartCommand, false}, {history.PartReply, true}}

// interceptSet applies the action to the next SET or its reply, and sends a SET.
func interceptSet(t *testing.T, b Bench, part history.Part, action cluster.Action, arrives bool) (sent <-chan error) {
	t.Helper()
	db, link := b.Over("c1", "n1"), b.Link("c1", "n1")
	require.NoError(t, db.Ping(ctx).Err())
	affected, err := link.Intercept(cluster.Intercept{Command: "SET", Part: part, Action: action})
	require.NoError(t, err)
	sent = sendSet(db, "k1")
	require.NoError(t, b.Sleep(ctx, settle))
	require.Equal(t, 1, affected().Messages)
	require.Equal(t, arrives, hasKey(t, b.Node("n1"), "k1"))
	return sent
}

func holds(t *testing.T, with With) {
	for _, c := range parts {
		t.Run(string(c.part), func(t *testing.T) {
			with(t, 1, nil, func(b Bench) {
				sent := interceptSet(t, b, c.part, cluster.Hold, c.arrives)
				require.True(t, pending(sent))
				held, err := b.Link("c1", "n1").LetGo()
				require.NoError(t, err)
				require.Equal(t, 1, held)
				require.NoError(t, <-sent)
				require.True(t, hasKey(t, b.Node("n1"), "k1"))
			})
		})
	}
}

// The connection of a lost message stays open: the client waits.
func loses(t *testing.T, with With) {
	for _, c := range parts {
		t.Run(string(c.part), func(t *testing.T) {
			with(t, 1, nil, func(b Bench) {
				sent := interceptSet(t, b, c.part, cluster.Lose, c.arrives)
				require.True(t, pending(sent))
				soon, cancel := withTimeout(time.Second)
				defer cancel()
				require.NoError(t, b.Over("c1", "n1").Ping(soon).Err(), "other connections go on")
			})
		})
	}
}

// A dropped message closes its connection: the client's command fails at once.
func drops(t *testing.T, with With) {
	for _, c := range parts {
		t.Run(string(c.part), func(t *testing.T) {
			with(t, 1, nil, func(b Bench) {
				sent := interceptSet(t, b, c.part, cluster.Drop, c.arrives)
				require.Error(t, <-sent)
			})
		})
	}
}
