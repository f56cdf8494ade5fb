package clustertest

import (
	"context"
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

// An intercept acts on the next SET or its reply. A held message waits for LetGo. The connection of a lost message
// stays open: the client waits. That of a dropped message closes: the client's command fails at once.
func intercepts(t *testing.T, with With) {
	for _, part := range []history.Part{history.PartCommand, history.PartReply} {
		for action, then := range map[cluster.Action]func(t *testing.T, b Bench, sent <-chan error){
			cluster.Hold: func(t *testing.T, b Bench, sent <-chan error) {
				require.True(t, pending(sent))
				held, err := b.Link("c1", "n1").LetGo()
				require.NoError(t, err)
				require.Equal(t, 1, held)
				require.NoError(t, <-sent)
				require.True(t, hasKey(t, b.Node("n1"), "k1"))
			},
			cluster.Lose: func(t *testing.T, b Bench, sent <-chan error) {
				require.True(t, pending(sent))
				soon, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				require.NoError(t, b.Over("c1", "n1").Ping(soon).Err(), "other connections go on")
			},
			cluster.Drop: func(t *testing.T, b Bench, sent <-chan error) { require.Error(t, <-sent) },
		} {
			t.Run(string(action)+" "+string(part), func(t *testing.T) {
				with(t, 1, nil, func(b Bench) {
					db := b.Over("c1", "n1")
					require.NoError(t, db.Ping(ctx).Err())
					affected, err := b.Link("c1", "n1").Intercept(cluster.Intercept{Command: "SET", Part: part, Action: action})
					require.NoError(t, err)
					sent := sendSet(db, "k1")
					require.NoError(t, b.Sleep(ctx, settle))
					require.Equal(t, 1, affected().Messages)
					require.Equal(t, part == history.PartReply, hasKey(t, b.Node("n1"), "k1"))
					then(t, b, sent)
				})
			})
		}
	}
}

// The history has each command and its reply, with times of the true clock.
func records(t *testing.T, with With) {
	var events Events
	with(t, 1, func(cfg *cluster.Config) { cfg.Record = events.Record }, func(b Bench) {
		require.NoError(t, b.Over("c1", "n1").Set(ctx, "k1", "token", time.Minute).Err())
		all, now := events.All(), b.Now()
		require.Len(t, all, 2)
		require.Equal(t, []history.Type{history.TypeCommand, history.TypeReply}, []history.Type{all[0].Type, all[1].Type})
		require.True(t, all[1].Command.Done)
		for _, e := range all {
			require.Equal(t, "c1>n1", e.Process)
			require.Equal(t, "token", e.Command.Token)
			require.GreaterOrEqual(t, e.Time, int64(0), "an event before the run began")
			require.LessOrEqual(t, e.Time, now, "an event that is still to come")
		}
	})
}
