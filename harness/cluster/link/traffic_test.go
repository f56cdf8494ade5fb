package link

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
)

// A pipeline that arrives in odd pieces is passed on byte for byte, and each of
// its commands is seen once.
func TestALargeBatchInOddPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const commands = 2000
		moves := scheduler.New()
		defer moves.End()
		var events []history.Event
		l := New(Config{Client: "c1", Node: "n1", Now: func() int64 { return 0 },
			Record: func(e history.Event) { events = append(events, e) }})
		client, near := Pipe(moves, scheduler.Key{})
		far, server := Pipe(moves, scheduler.Key{})
		l.Join(near, far)

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
		require.NoError(t, l.Close())
	})
}

// through writes to one end in pieces of odd sizes and reads as much from the
// other.
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

// What is no RESP is none of the link's business, and passes.
func TestOtherProtocolsPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		moves := scheduler.New()
		defer moves.End()
		l := New(Config{Client: "c1", Node: "n1", Now: func() int64 { return 0 }})
		client, near := Pipe(moves, scheduler.Key{})
		far, server := Pipe(moves, scheduler.Key{})
		l.Join(near, far)
		data := []byte("GET / HTTP/1.1\r\nHost: n1\r\n\r\n*1\r\n$4\r\nPING\r\n")
		require.Equal(t, data, through(t, client, server, data))
		require.NoError(t, l.Close())
	})
}

// requireCounts compares what was counted, and that so many messages have their times.
func requireCounts(t *testing.T, want, got cluster.Traffic, why ...any) {
	t.Helper()
	require.Len(t, got.First, got.SetOut)
	for _, sent := range got.First {
		require.False(t, sent.After(time.Now()))
	}
	got.First = nil
	require.Equal(t, want, got, why...)
}

func TestMeasureCountsWhatPassesFromNowOn(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		require.NoError(t, r.redis.Ping(ctx).Err()) // connects
		require.NoError(t, r.redis.Ping(ctx).Err())
		up, down := r.link.Measure(cluster.ToNode), r.link.Measure(cluster.ToClient)
		require.Zero(t, up())
		for range 3 {
			require.NoError(t, r.redis.Ping(ctx).Err())
		}
		requireCounts(t, cluster.Traffic{SetOut: 3, Messages: 3}, up(), "the link's own travel time is no delay")
		requireCounts(t, cluster.Traffic{SetOut: 3, Messages: 3}, down())

		require.NoError(t, r.link.Delay(cluster.ToClient, 30*time.Millisecond))
		later := r.link.Measure(cluster.ToClient)
		require.NoError(t, r.redis.Ping(ctx).Err())
		requireCounts(t, cluster.Traffic{SetOut: 1, Messages: 1, Shortest: 30 * time.Millisecond}, later())
		require.Equal(t, 4, up().Messages, "an earlier meter goes on")

		require.NoError(t, r.link.Delay(cluster.ToClient, 0))
		require.NoError(t, r.redis.Ping(ctx).Err())
		requireCounts(t, cluster.Traffic{SetOut: 2, Messages: 2}, later(), "the shortest counts")
	})
}

func TestNothingIsMeasuredThroughACut(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		require.NoError(t, r.redis.Ping(context.Background()).Err())
		require.NoError(t, r.link.Cut(cluster.ToNode))
		up, down := r.link.Measure(cluster.ToNode), r.link.Measure(cluster.ToClient)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		require.Error(t, r.redis.Ping(ctx).Err())
		requireCounts(t, cluster.Traffic{SetOut: 1}, up(), "what is held has set out")
		require.Zero(t, down())
		require.NoError(t, r.link.Heal(cluster.ToNode))
		time.Sleep(time.Second)
		require.Equal(t, 1, up().Messages, "what was held passes after it")
		require.GreaterOrEqual(t, up().Shortest, time.Second-2*time.Millisecond)
	})
}

func TestInterceptedCountsMessages(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		set := func(key string) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			r.redis.SetNX(ctx, key, "x", time.Minute)
		}
		met, err := r.link.Intercept(cluster.Intercept{Command: "set", Part: cluster.PartReply, Action: cluster.Lose, Times: 2})
		require.NoError(t, err)
		other, err := r.link.Intercept(cluster.Intercept{Command: "get", Part: cluster.PartReply, Action: cluster.Lose})
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

// EVAL and EVALSHA are one command to whoever counts or intercepts them.
func TestEvalStandsForEvalsha(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		require.NoError(t, r.redis.Eval(ctx, "return 1", []string{"k1"}).Err())
		require.Error(t, r.redis.EvalSha(ctx, "0000000000000000000000000000000000000000", []string{"k1"}).Err())
		received, answered := r.link.Count("EVAL")
		require.Equal(t, []int{2, 2}, []int{received, answered})
		met, err := r.link.Intercept(cluster.Intercept{Command: "evalsha", Part: cluster.PartCommand, Action: cluster.Drop})
		require.NoError(t, err)
		require.Error(t, r.redis.Eval(ctx, "return 2", []string{"k1"}).Err())
		require.Equal(t, 1, met().Messages)
	})
}
