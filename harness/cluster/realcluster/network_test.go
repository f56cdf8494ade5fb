package network

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/history"
)

var c1n1 = history.Link{From: "c1", To: "n1"}

// open opens a network on loopback, and returns the addresses of its links.
func open(t *testing.T, want Run) (*Network, map[history.Link]string) {
	t.Helper()
	n, err := Open(want, Loopback, func(history.Event) {})
	require.NoError(t, err)
	t.Cleanup(n.Close)
	require.Len(t, n.Addresses, len(want.Links)+len(want.Streams)+2*len(want.Members))
	return n, n.Addresses
}

func TestMemberPorts_LinkCut_StillReachTheMember(t *testing.T) {
	server := miniredis.RunT(t)
	bus, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer bus.Close()
	n, at := open(t, Run{Links: []history.Link{c1n1}, Servers: map[string]string{"n1": server.Addr()},
		Members: map[string]int{"n1": bus.Addr().(*net.TCPAddr).Port}})
	require.NoError(t, n.Link(c1n1).Cut(history.Both))
	require.NoError(t, clustertest.Dial(t, at[history.Link{From: ToMember, To: "n1"}], "").Ping(t.Context()).Err())
	conn, err := net.Dial("tcp", at[history.Link{From: ToBus, To: "n1"}])
	require.NoError(t, err)
	defer conn.Close()
	arrived, err := bus.Accept()
	require.NoError(t, err)
	arrived.Close()
	require.NoError(t, n.Move("n1", ""))
	for _, way := range []string{ToMember, ToBus} {
		conn, err := net.Dial("tcp", at[history.Link{From: way, To: "n1"}])
		require.NoError(t, err)
		_, err = conn.Read(make([]byte, 1))
		require.Error(t, err, "%s of a member that is down is closed", way)
		conn.Close()
	}
}

func TestLinks_LeadToTheirServers_WithTheRunsDelay(t *testing.T) {
	const oneWay = 15 * time.Millisecond
	want := Run{Delay: oneWay, Servers: map[string]string{}}
	servers := map[string]*miniredis.Miniredis{}
	for _, name := range []string{"n1", "n2"} {
		servers[name] = miniredis.RunT(t)
		want.Servers[name] = servers[name].Addr()
		want.Links = append(want.Links, history.Link{From: "c1", To: name})
	}
	_, at := open(t, want)
	for l, address := range at {
		db := clustertest.Dial(t, address, "")
		require.NoError(t, db.Ping(t.Context()).Err())
		began := time.Now()
		require.NoError(t, db.Set(t.Context(), "k1", l.To, 0).Err())
		require.GreaterOrEqual(t, time.Since(began), 2*oneWay)
		got, err := servers[l.To].Get("k1")
		require.NoError(t, err)
		require.Equal(t, l.To, got)
	}
}

// A stream's messages are not a client's.
func TestStream_Traffic_IsNotRecorded(t *testing.T) {
	server := miniredis.RunT(t)
	stream := history.Link{From: "r1", To: "n1"}
	recorded := make(chan history.Event, 100)
	n, err := Open(Run{Links: []history.Link{c1n1}, Streams: []history.Link{stream},
		Servers: map[string]string{"n1": server.Addr()}},
		Loopback, func(e history.Event) { recorded <- e })
	require.NoError(t, err)
	for _, address := range n.Addresses {
		db := clustertest.Dial(t, address, "")
		require.NoError(t, db.Set(t.Context(), "k1", "v", 0).Err())
	}
	n.Close()
	close(recorded)
	for e := range recorded {
		require.Equal(t, c1n1.Process(), e.Process)
	}
}

func TestOpen_InvalidRun_Fails(t *testing.T) {
	for want, run := range map[string]Run{
		`the member "n9": there is no such server`: {Members: map[string]int{"n9": 1}},
		`is there twice`:                   {Links: []history.Link{c1n1, c1n1}, Servers: map[string]string{"n1": ""}},
		`to "n2": there is no such server`: {Streams: []history.Link{{To: "n2"}}},
	} {
		_, err := Open(run, Loopback, nil)
		require.ErrorContains(t, err, want)
	}
	_, err := Open(Run{Links: []history.Link{c1n1}, Servers: map[string]string{"n1": ""}},
		func(history.Link) (net.Listener, string, error) { return nil, "", errors.New("no port") }, nil)
	require.ErrorContains(t, err, "from c1 to n1: no port")
}
