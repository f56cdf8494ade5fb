package link

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// The bytes pass unchanged, and each command counts once.
func TestLink_PipelineInOddPieces_PassesAndCounts(t *testing.T) {
	const commands = 2000
	var events []history.Event
	piped(t, func(e history.Event) { events = append(events, e) }, func(t *testing.T, l *Link, client, server net.Conn) {
		var sent, answers bytes.Buffer
		for i := range commands {
			sent.Write(resp("SET", "k"+strconv.Itoa(i), fmt.Sprintf("v\r\n%d", i), "NX", "PX", "1000"))
			answers.WriteString([]string{"+OK\r\n", "$-1\r\n"}[i%2])
		}
		require.Equal(t, sent.Bytes(), through(t, client, server, sent.Bytes()))
		require.Equal(t, answers.Bytes(), through(t, server, client, answers.Bytes()))

		received, answered := l.Count("SET")
		require.Equal(t, []int{commands, commands}, []int{received, answered})
		require.Len(t, events, 2*commands)
		for i, e := range events[commands:] {
			require.Equal(t, "k"+strconv.Itoa(i), e.Key)
			require.Equal(t, int64(i+1), e.Command.Serial)
			require.Equal(t, i%2 == 0, e.Command.Done, "reply %d belongs to command %d", i, i)
		}
	})
}

// through writes data to one end in pieces of odd sizes and reads the same number of bytes from the other.
func through(t *testing.T, to io.Writer, from io.Reader, data []byte) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	go func() {
		for rest := data; len(rest) > 0; {
			time.Sleep(time.Microsecond)
			n := min(1+rng.IntN(97), len(rest))
			_, _ = to.Write(rest[:n])
			rest = rest[n:]
		}
	}()
	got := make([]byte, len(data))
	_, err := io.ReadFull(from, got)
	require.NoError(t, err)
	return got
}

func TestLink_NotRESP_PassesUnread(t *testing.T) {
	piped(t, nil, func(t *testing.T, l *Link, client, server net.Conn) {
		data := []byte("GET / HTTP/1.1\r\nHost: n1\r\n\r\n*1\r\n$4\r\nPING\r\n")
		require.Equal(t, data, through(t, client, server, data))
	})
}

// requireCounts compares the counts and checks that each sent message has its time.
func requireCounts(t *testing.T, want, got cluster.Traffic, why ...any) {
	t.Helper()
	require.Len(t, got.First, got.SetOut)
	for _, sent := range got.First {
		require.False(t, sent.After(time.Now()))
	}
	got.First = nil
	require.Equal(t, want, got, why...)
}

func TestMeasure_CountsLaterMessages(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		require.NoError(t, r.redis.Ping(ctx).Err()) // connects
		require.NoError(t, r.redis.Ping(ctx).Err())
		up, down := r.link.Measure(history.ToNode), r.link.Measure(history.ToClient)
		both := r.link.Measure(history.Both)
		require.Zero(t, up())
		for range 3 {
			require.NoError(t, r.redis.Ping(ctx).Err())
		}
		requireCounts(t, cluster.Traffic{SetOut: 3, Messages: 3}, up(), "the link's own travel time is no delay")
		requireCounts(t, cluster.Traffic{SetOut: 3, Messages: 3}, down())
		requireCounts(t, cluster.Traffic{SetOut: 6, Messages: 6}, both())

		require.NoError(t, r.link.Delay(history.ToClient, 30*time.Millisecond))
		later, bothLater := r.link.Measure(history.ToClient), r.link.Measure(history.Both)
		require.NoError(t, r.redis.Ping(ctx).Err())
		requireCounts(t, cluster.Traffic{SetOut: 1, Messages: 1, Shortest: 30 * time.Millisecond}, later())
		requireCounts(t, cluster.Traffic{SetOut: 2, Messages: 2}, bothLater(), "the shortest of both directions counts")
		require.Equal(t, 4, up().Messages, "an earlier meter goes on")

		require.NoError(t, r.link.Delay(history.ToClient, -30*time.Millisecond))
		require.NoError(t, r.redis.Ping(ctx).Err())
		requireCounts(t, cluster.Traffic{SetOut: 2, Messages: 2}, later(), "the shortest counts")
	})
}

func TestMeasure_LinkCut_NoMessageArrives(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		require.NoError(t, r.redis.Ping(context.Background()).Err())
		require.NoError(t, r.link.Cut(history.ToNode))
		up, down := r.link.Measure(history.ToNode), r.link.Measure(history.ToClient)
		both := r.link.Measure(history.Both)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		require.Error(t, r.redis.Ping(ctx).Err())
		requireCounts(t, cluster.Traffic{SetOut: 1}, up(), "what is held has set out")
		require.Zero(t, down())
		require.Equal(t, up(), both())
		require.NoError(t, r.link.Heal(history.ToNode))
		time.Sleep(time.Second)
		require.Equal(t, 1, up().Messages, "what was held passes after it")
		require.GreaterOrEqual(t, up().Shortest, time.Second-2*time.Millisecond)
	})
}

func TestIntercept_CountsAffectedMessages(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		set := func(key string) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			r.redis.SetNX(ctx, key, "x", time.Minute)
		}
		met, err := r.link.Intercept(cluster.Intercept{Command: "set", Part: history.PartReply, Action: cluster.Lose,
			Times: 2})
		require.NoError(t, err)
		other, err := r.link.Intercept(cluster.Intercept{Command: "get", Part: history.PartReply, Action: cluster.Lose})
		require.NoError(t, err)
		require.Zero(t, met().Messages)
		set("k1")
		require.Equal(t, 1, met().Messages)
		require.NoError(t, r.redis.Ping(context.Background()).Err(), "no SET")
		require.Equal(t, 1, met().Messages)
		set("k2")
		set("k3")
		require.Equal(t, 2, met().Messages, "twice, and no more")
		require.Zero(t, other().Messages, "what one intercept meets is not another's")
	})
}

// EVAL and EVALSHA count as one command.
func TestCountAndIntercept_Eval_IncludesEvalsha(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		require.NoError(t, r.redis.Eval(ctx, "return 1", []string{"k1"}).Err())
		require.Error(t, r.redis.EvalSha(ctx, "0000000000000000000000000000000000000000", []string{"k1"}).Err())
		received, answered := r.link.Count("EVAL")
		require.Equal(t, []int{2, 2}, []int{received, answered})
		met, err := r.link.Intercept(cluster.Intercept{Command: "evalsha", Part: history.PartCommand, Action: cluster.Drop})
		require.NoError(t, err)
		require.Error(t, r.redis.Eval(ctx, "return 2", []string{"k1"}).Err())
		require.Equal(t, 1, met().Messages)
	})
}

// A node sends unsolicited messages: the invalidation of a tracked key, a message to a subscriber, one confirmation for
// each channel of a SUBSCRIBE.
func TestLink_UnsolicitedMessage_IsNotAReply(t *testing.T) {
	const message = "message\r\n$1\r\na\r\n$1\r\nx\r\n"
	for name, stream := range map[string][][2]string{ // the command, and the node's messages
		"tracking": {
			{"CLIENT TRACKING on", "+OK\r\n"}, {"GET k1", "$-1\r\n"},
			{"SET k1 token NX", ">2\r\n$10\r\ninvalidate\r\n*1\r\n$2\r\nk1\r\n+OK\r\n"},
		},
		"a subscriber that speaks RESP3": {
			{"SUBSCRIBE a b", ">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n>3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n"},
			{"SET k1 token NX", ">3\r\n$7\r\n" + message + "+OK\r\n"},
		},
		"a subscriber that unsubscribes": {
			{"SUBSCRIBE a b", "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n"},
			{"PING", "*3\r\n$7\r\n" + message + "*2\r\n$4\r\npong\r\n$0\r\n\r\n"},
			{"UNSUBSCRIBE", "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:0\r\n"},
			{"SET k1 token NX", "+OK\r\n"},
		},
		"attributes": {{"SET k1 token NX", "|1\r\n$1\r\na\r\n$1\r\nb\r\n+OK\r\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			var done []bool
			piped(t, func(e history.Event) {
				if e.Type == history.TypeReply && e.Command.Name == "SET" {
					done = append(done, e.Command.Done)
				}
			}, func(t *testing.T, l *Link, client, server net.Conn) {
				for _, s := range stream {
					send(t, client, server, string(resp(strings.Fields(s[0])...)))
					send(t, server, client, s[1])
				}
				require.Equal(t, []bool{true}, done)
				for _, name := range []string{"CLIENT", "SUBSCRIBE", "UNSUBSCRIBE", "PING", "SET"} {
					received, answered := l.Count(name)
					require.Equal(t, received, answered, name)
				}
			})
		})
	}
}

// send writes text to one end, and returns once all of it has arrived at the other.
func send(t *testing.T, to, from net.Conn, text string) {
	t.Helper()
	_, err := fmt.Fprint(to, text)
	require.NoError(t, err)
	got := make([]byte, len(text))
	_, err = io.ReadFull(from, got)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
}

// Before EXEC the outcome is unknown.
func TestTransaction_Exec_AnswersQueuedCommands(t *testing.T) {
	type recorded struct {
		name, reply string
		done        bool
	}
	const aborted = "error: the transaction was not carried out"
	for name, c := range map[string]struct {
		exec string
		want []recorded
	}{
		"carried out": {"*3\r\n:0\r\n$-1\r\n:1\r\n",
			[]recorded{{"PEXPIRE", "0", false}, {"SET", "nil", false}, {"DEL", "1", true}}},
		"one of them fails": {"*3\r\n:1\r\n-WRONGTYPE no\r\n:1\r\n",
			[]recorded{{"PEXPIRE", "1", true}, {"SET", "error: WRONGTYPE no", false}, {"DEL", "1", true}}},
		"its key was changed": {"*-1\r\n",
			[]recorded{{"PEXPIRE", aborted, false}, {"SET", aborted, false}, {"DEL", aborted, false}}},
		"the node refuses": {"-EXECABORT no\r\n",
			[]recorded{{"PEXPIRE", aborted, false}, {"SET", aborted, false}, {"DEL", aborted, false}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []recorded
			piped(t, func(e history.Event) {
				if e.Type == history.TypeReply {
					got = append(got, recorded{e.Command.Name, e.Command.Reply, e.Command.Done})
				}
			}, func(t *testing.T, l *Link, client, server net.Conn) {
				through(t, client, server, bytes.Join([][]byte{resp("MULTI"), resp("PEXPIRE", "k", "1000"),
					resp("SET", "k", "v", "NX", "PX", "1000"), resp("DEL", "k"), resp("EXEC")}, nil))
				through(t, server, client, []byte("+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n"))
				require.Empty(t, got, "the outcome is unknown yet")
				_, answered := l.Count("DEL")
				require.Zero(t, answered)
				through(t, server, client, []byte(c.exec))
				require.Equal(t, c.want, got)
			})
		})
	}
}

// The reply to a queued command is the reply to EXEC.
func TestTransaction_InterceptedReply_HoldsReplyToExec(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		met, err := r.link.Intercept(cluster.Intercept{Command: history.Release, Part: history.PartReply,
			Action: cluster.Hold})
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

// Discarded commands are not part of the next transaction.
func TestTransaction_Discard_ForgetsQueuedCommands(t *testing.T) {
	named := func(name string) *exchange { return &exchange{command: command{Name: name}} }
	c := &connection{}
	queue := func(name string) {
		_, later := c.answersQueued(named(name), reply(t, "+QUEUED\r\n"))
		require.True(t, later)
	}
	queue("SET")
	discarded, _ := c.answersQueued(named("DISCARD"), reply(t, "+OK\r\n"))
	require.Len(t, discarded, 1)
	require.True(t, discarded[0].failed(), "it was not carried out")
	queue("DEL")
	done, _ := c.answersQueued(named("EXEC"), reply(t, "*1\r\n:1\r\n"))
	require.Len(t, done, 1)
	require.Equal(t, "DEL", done[0].command.Name)
}
