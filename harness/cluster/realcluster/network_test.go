package realcluster

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/history"
)

var c1n1 = history.Link{From: "c1", To: "n1"}

// oneNode has the link c1n1.
func oneNode() cluster.Config {
	return cluster.Config{Clients: []string{"c1"}, Nodes: []string{"n1"}, Record: func(history.Event) {}}
}

// open opens a network on loopback, and returns the addresses of its links. Other servers are down.
func open(t *testing.T, cfg cluster.Config, servers map[string]string,
	members map[string]int) (*network, map[history.Link]string) {
	t.Helper()
	for _, name := range cfg.Servers() {
		servers[name] += ""
	}
	n, err := openNetwork(cfg, realtime.Start(), servers, members, Loopback)
	require.NoError(t, err)
	t.Cleanup(n.close)
	commands, streams := cfg.Links()
	require.Len(t, n.addresses, len(commands)+len(streams)+2*len(members))
	return n, n.addresses
}

func TestMemberPorts_LinkCut_StillReachTheMember(t *testing.T) {
	server := miniredis.RunT(t)
	bus, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer bus.Close()
	n, at := open(t, oneNode(), map[string]string{"n1": server.Addr()},
		map[string]int{"n1": bus.Addr().(*net.TCPAddr).Port})
	require.NoError(t, n.links[c1n1].Cut(history.Both))
	require.NoError(t, clustertest.Dial(t, at[history.Link{From: toMember, To: "n1"}], "").Ping(t.Context()).Err())
	conn, err := net.Dial("tcp", at[history.Link{From: toBus, To: "n1"}])
	require.NoError(t, err)
	defer conn.Close()
	arrived, err := bus.Accept()
	require.NoError(t, err)
	arrived.Close()
	n.servers["n1"].move("")
	for _, way := range []string{toMember, toBus} {
		conn, err := net.Dial("tcp", at[history.Link{From: way, To: "n1"}])
		require.NoError(t, err)
		_, err = conn.Read(make([]byte, 1))
		require.Error(t, err, "%s of a member that is down is closed", way)
		conn.Close()
	}
}

func TestLinks_LeadToTheirServers_WithTheRunsDelay(t *testing.T) {
	const oneWay = 15 * time.Millisecond
	cfg := oneNode()
	cfg.Nodes, cfg.Delay = []string{"n1", "n2"}, oneWay
	servers, addresses := map[string]*miniredis.Miniredis{}, map[string]string{}
	for _, name := range cfg.Servers() {
		servers[name] = miniredis.RunT(t)
		addresses[name] = servers[name].Addr()
	}
	_, at := open(t, cfg, addresses, nil)
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
	recorded := make(chan history.Event, 100)
	cfg := oneNode()
	cfg.Replicas, cfg.Record = map[string]string{"r1": "n1"}, func(e history.Event) { recorded <- e }
	n, at := open(t, cfg, map[string]string{"n1": miniredis.RunT(t).Addr()}, nil)
	for _, l := range []history.Link{c1n1, {From: "r1", To: "n1"}} {
		require.NoError(t, clustertest.Dial(t, at[l], "").Set(t.Context(), "k1", "v", 0).Err())
	}
	n.close()
	close(recorded)
	for e := range recorded {
		require.Equal(t, c1n1.Process(), e.Process)
	}
}

func TestOpenNetwork_NoPort_Fails(t *testing.T) {
	_, err := openNetwork(oneNode(), realtime.Start(), nil, nil,
		func(history.Link) (net.Listener, string, error) { return nil, "", errors.New("no port") })
	require.ErrorContains(t, err, "from c1 to n1: no port")
}
