package link

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
)

// Every byte, and the end of the stream, arrive at the same time with and without toxiproxy.
func TestDirectLink_RandomFaults_EqualsToxiproxy(t *testing.T) {
	for seed := range uint64(200) {
		require.Equal(t, arrivals(t, seed, false), arrivals(t, seed, true), "seed %d", seed)
	}
}

// arrivals lists the bytes that arrived at each end of a connection, with their times, under faults and traffic drawn
// from a seed.
func arrivals(t *testing.T, seed uint64, direct bool) (at [2][]string) {
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(seed, 1))
		start := time.Now()
		events := scheduler.New()
		defer events.End()
		var in *scheduler.Scheduler
		if direct {
			in = events
		}
		l := New(Config{Client: "c1", Node: "n1", Now: func() int64 { return int64(time.Since(start)) }, Direct: in,
			Travel: func(toNode bool, connection, message int) time.Duration { return time.Millisecond }})
		client, near := Pipe(events, scheduler.Key{})
		far, server := Pipe(events, scheduler.Key{})
		l.Join(near, far)
		done := make(chan bool)
		for i, from := range []net.Conn{server, client} {
			go func() {
				for buf := make([]byte, 1<<16); ; {
					n, err := from.Read(buf)
					for _, b := range buf[:n] { // a reader may get the bytes of one instant in pieces
						at[i] = append(at[i], fmt.Sprintf("%v %q", time.Since(start), b))
					}
					if err != nil {
						at[i] = append(at[i], fmt.Sprint(time.Since(start), err))
						done <- true
						return
					}
				}
			}()
		}
		drawFaults(t, r, l, client, server)
		time.Sleep(time.Duration(r.IntN(3000)) * time.Microsecond)
		require.NoError(t, pick(r, client, server).Close())
		time.Sleep(time.Minute)
		require.NoError(t, l.Close())
		<-done
		<-done
	})
	return at
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// drawFaults sends commands and replies through a link, and cuts, delays, holds and loses some.
func drawFaults(t *testing.T, r *rand.Rand, l *Link, client, server net.Conn) {
	ways := []history.Direction{history.ToNode, history.ToClient}
	cut, delays := map[history.Direction]bool{}, map[history.Direction]time.Duration{}
	for i := range 40 {
		time.Sleep(time.Duration(1+r.IntN(4000))*time.Microsecond + 7)
		way := pick(r, ways...)
		switch r.IntN(7) {
		case 0:
			if cut[way] = !cut[way]; cut[way] {
				require.NoError(t, l.Cut(way))
			} else {
				require.NoError(t, l.Heal(way))
			}
		case 1:
			want := time.Duration(max(0, r.IntN(18)-9)) * time.Millisecond
			require.NoError(t, l.Delay(way, want-delays[way]))
			delays[way] = want
		case 2:
			_, err := l.Intercept(cluster.Intercept{Command: "SET", Action: pick(r, cluster.Hold, cluster.Hold, cluster.Lose),
				Part: pick(r, history.PartCommand, history.PartReply)})
			require.NoError(t, err)
		case 3:
			_, err := l.LetGo()
			require.NoError(t, err)
		case 4, 5:
			_, err := client.Write(resp("SET", "k1", fmt.Sprint(i)))
			require.NoError(t, err)
		default:
			_, err := server.Write([]byte(fmt.Sprintf("+OK %d\r\n", i)))
			require.NoError(t, err)
		}
	}
	time.Sleep(time.Microsecond) // events of one instant have no order
	for way, on := range cut {
		if on {
			require.NoError(t, l.Heal(way))
		}
	}
	_, err := l.LetGo()
	require.NoError(t, err)
}

// Otherwise one seed would not give one history.
func TestLinkEach_ConnectionsInOrderOfCreation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := scheduler.New()
		defer events.End()
		l := New(Config{Client: "c1", Node: "n1", Now: func() int64 { return 0 }, Direct: events})
		var want []*flow
		for range 20 {
			_, near := Pipe(events, scheduler.Key{})
			far, _ := Pipe(events, scheduler.Key{})
			want = append(want, l.connect(near, far).flows[toNode])
		}
		var got []*flow
		l.each(toNode, func(f *flow) { got = append(got, f) })
		require.Len(t, got, len(want))
		for i := range want {
			require.Same(t, want[i], got[i], i)
		}
	})
}

func TestUnmodelled_NamesTheRefusedCommand(t *testing.T) {
	for refusal, want := range map[string]string{
		"ERR XADD %s, whose nodes": "XADD",
		"ERR Error compiling script (new function): :1: ERR XADD %s, whose nodes": "XADD",
		"ERR SUBSCRIBE to keyspace notifications %s: use the local cluster":       "SUBSCRIBE to keyspace notifications",
		"ERR unknown command 'FCALL', or one that %s: use the local cluster":      "EVAL",
		"no: it %s": "EVAL",
	} {
		require.Equal(t, want, unmodelled("EVAL", fmt.Sprintf(refusal, history.Unmodelled)))
	}
}
