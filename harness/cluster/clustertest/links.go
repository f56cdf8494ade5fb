package clustertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// A cut holds what sets out in its direction until it heals, and nobody else's messages.
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
				sent := setting(db, "k1")
				require.NoError(t, b.Sleep(ctx, settle))
				require.True(t, open(sent), "it is answered through the cut")
				require.Equal(t, c.arrives, has(t, b.Node("n1"), "k1"))
				require.NoError(t, b.Over("c2", "n1").Ping(ctx).Err(), "c2 is not cut off")
				require.NoError(t, link.Heal(c.direction))
				require.NoError(t, <-sent)
				require.True(t, has(t, b.Node("n1"), "k1"))
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
				require.NoError(t, link.Delay(c.direction, 0))
				require.NoError(t, db.Ping(ctx).Err())
			})
		})
	}
}

// parts are a command, which does not arrive if something is done to it, and its reply.
var parts = []struct {
	part    history.Part
	arrives bool // the command, at the node
}{{history.PartCommand, false}, {history.PartReply, true}}

// intercepted has something done to the next SET or its reply, and sends one.
func intercepted(t *testing.T, b Bench, part history.Part, action cluster.Action, arrives bool) (sent <-chan error) {
	t.Helper()
	db, link := b.Over("c1", "n1"), b.Link("c1", "n1")
	require.NoError(t, db.Ping(ctx).Err())
	met, err := link.Intercept(cluster.Intercept{Command: "SET", Part: part, Action: action})
	require.NoError(t, err)
	sent = setting(db, "k1")
	require.NoError(t, b.Sleep(ctx, settle))
	require.Equal(t, 1, met().Messages)
	require.Equal(t, arrives, has(t, b.Node("n1"), "k1"))
	return sent
}

func holds(t *testing.T, with With) {
	for _, c := range parts {
		t.Run(string(c.part), func(t *testing.T) {
			with(t, 1, nil, func(b Bench) {
				sent := intercepted(t, b, c.part, cluster.Hold, c.arrives)
				require.True(t, open(sent))
				held, err := b.Link("c1", "n1").LetGo()
				require.NoError(t, err)
				require.Equal(t, 1, held)
				require.NoError(t, <-sent)
				require.True(t, has(t, b.Node("n1"), "k1"))
			})
		})
	}
}

// What is lost leaves its connection open: the client waits.
func loses(t *testing.T, with With) {
	for _, c := range parts {
		t.Run(string(c.part), func(t *testing.T) {
			with(t, 1, nil, func(b Bench) {
				sent := intercepted(t, b, c.part, cluster.Lose, c.arrives)
				require.True(t, open(sent))
				soon, cancel := within(time.Second)
				defer cancel()
				require.NoError(t, b.Over("c1", "n1").Ping(soon).Err(), "other connections go on")
			})
		})
	}
}

// What is dropped closes its connection: the client learns of it at once.
func drops(t *testing.T, with With) {
	for _, c := range parts {
		t.Run(string(c.part), func(t *testing.T) {
			with(t, 1, nil, func(b Bench) {
				sent := intercepted(t, b, c.part, cluster.Drop, c.arrives)
				require.Error(t, <-sent)
			})
		})
	}
}
