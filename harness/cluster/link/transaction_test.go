package link

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
)

// What became of a command of a transaction is in the answer to EXEC, and nowhere before.
func TestTransaction_ExecAnswersWhatWasQueued(t *testing.T) {
	type told struct {
		name, reply string
		done        bool
	}
	const aborted = "error: the transaction was not carried out"
	for name, c := range map[string]struct {
		exec string
		want []told
	}{
		"carried out": {"*3\r\n:0\r\n$-1\r\n:1\r\n",
			[]told{{"PEXPIRE", "0", false}, {"SET", "nil", false}, {"DEL", "1", true}}},
		"one of them fails": {"*3\r\n:1\r\n-WRONGTYPE no\r\n:1\r\n",
			[]told{{"PEXPIRE", "1", true}, {"SET", "error: WRONGTYPE no", false}, {"DEL", "1", true}}},
		"its key was changed": {"*-1\r\n",
			[]told{{"PEXPIRE", aborted, false}, {"SET", aborted, false}, {"DEL", aborted, false}}},
		"the node refuses": {"-EXECABORT no\r\n",
			[]told{{"PEXPIRE", aborted, false}, {"SET", aborted, false}, {"DEL", aborted, false}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				moves := scheduler.New()
				defer moves.End()
				var got []told
				l := New(Config{Client: "c1", Node: "n1", Now: func() int64 { return 0 }, Record: func(e history.Event) {
					if e.Type == history.TypeReply {
						got = append(got, told{e.Command.Name, e.Command.Reply, e.Command.Done})
					}
				}})
				client, near := Pipe(moves, scheduler.Key{})
				far, server := Pipe(moves, scheduler.Key{})
				l.Join(near, far)
				through(t, client, server, bytes.Join([][]byte{resp("MULTI"), resp("PEXPIRE", "k", "1000"),
					resp("SET", "k", "v", "NX", "PX", "1000"), resp("DEL", "k"), resp("EXEC")}, nil))
				through(t, server, client, []byte("+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n"))
				require.Empty(t, got, "nothing is known yet")
				_, answered := l.Count("DEL")
				require.Zero(t, answered)
				through(t, server, client, []byte(c.exec))
				require.Equal(t, c.want, got)
				require.NoError(t, l.Close())
			})
		})
	}
}

// The reply to a queued command is the reply to EXEC: that is what an intercept holds.
func TestTransaction_TheReplyToExecIsHeld(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		met, err := r.link.Intercept(cluster.Intercept{Command: cluster.Release, Part: cluster.PartReply, Action: cluster.Hold})
		require.NoError(t, err)
		released := make(chan error)
		go func() {
			_, err := r.redis.TxPipelined(context.Background(), func(p redis.Pipeliner) error {
				p.Del(context.Background(), "k")
				return nil
			})
			released <- err
		}()
		time.Sleep(time.Second)
		require.Equal(t, 1, met().Messages)
		received, answered := r.link.Count("EXEC")
		require.Equal(t, []int{1, 1}, []int{received, answered})
		held, err := r.link.LetGo()
		require.NoError(t, err)
		require.Equal(t, 1, held)
		require.NoError(t, <-released)
	})
}

// What was queued before a DISCARD is no part of the next transaction.
func TestTransaction_DiscardForgetsWhatWasQueued(t *testing.T) {
	asks := func(name string) *exchange { return &exchange{command: command{Name: name}} }
	c := &connection{}
	queue := func(name string) {
		_, later := c.answersQueued(asks(name), []byte("+QUEUED\r\n"))
		require.True(t, later)
	}
	queue("SET")
	gone, _ := c.answersQueued(asks("DISCARD"), []byte("+OK\r\n"))
	require.Len(t, gone, 1)
	require.True(t, gone[0].err, "it was not carried out")
	queue("DEL")
	done, _ := c.answersQueued(asks("EXEC"), []byte("*1\r\n:1\r\n"))
	require.Len(t, done, 1)
	require.Equal(t, "DEL", done[0].command.Name)
}
