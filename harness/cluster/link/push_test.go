package link

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
)

// What a node sends unasked is no reply: the invalidation of a key that its client tracks, a
// message to a subscriber, one confirmation for each channel of a SUBSCRIBE.
func TestPushesAreNoReplies(t *testing.T) {
	const message = "message\r\n$1\r\na\r\n$1\r\nx\r\n"
	for name, stream := range map[string][][2]string{ // what is sent, and what comes
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
			synctest.Test(t, func(t *testing.T) {
				moves := scheduler.New()
				defer moves.End()
				var done []bool
				l := New(Config{Client: "c1", Node: "n1", Now: func() int64 { return 0 }, Direct: moves, Record: func(e history.Event) {
					if e.Type == history.TypeReply && e.Command.Name == "SET" {
						done = append(done, e.Command.Done)
					}
				}})
				client, near := Pipe(moves, scheduler.Key{})
				far, server := Pipe(moves, scheduler.Key{})
				l.Join(near, far)
				for _, s := range stream {
					send(t, client, server, string(resp(strings.Fields(s[0])...)))
					send(t, server, client, s[1])
				}
				require.Equal(t, []bool{true}, done)
				for _, name := range []string{"CLIENT", "SUBSCRIBE", "UNSUBSCRIBE", "PING", "SET"} {
					received, answered := l.Count(name)
					require.Equal(t, received, answered, name)
				}
				require.NoError(t, l.Close())
			})
		})
	}
}

// send writes at one end, and returns once all has come out of the other.
func send(t *testing.T, to, from net.Conn, text string) {
	t.Helper()
	_, err := fmt.Fprint(to, text)
	require.NoError(t, err)
	got := make([]byte, len(text))
	_, err = io.ReadFull(from, got)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
}
