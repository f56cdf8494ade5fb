package realcluster

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"

	miniserver "github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// Valkey 9.1's WAIT counts a replica that reports its link as down.
func TestAwaitReplicas_LinkDown_KeepsWaiting(t *testing.T) {
	var asked atomic.Int32
	replica := answering(t, map[string]func(*miniserver.Peer){
		"INFO": func(c *miniserver.Peer) {
			link := "down"
			if asked.Add(1) > 2 {
				link = "up"
			}
			c.WriteBulk(strings.Join([]string{
				"role:slave", "master_link_status:" + link, "master_sync_in_progress:0", "slave_repl_offset:0", "",
			}, "\r\n"))
		},
	})
	master := answering(t, map[string]func(*miniserver.Peer){
		"PUBLISH": func(c *miniserver.Peer) { c.WriteInt(0) },
		"WAIT":    func(c *miniserver.Peer) { c.WriteInt(1) },
	})
	require.NoError(t, awaitReplicas(t.Context(), master, []string{replica}))
	require.EqualValues(t, 3, asked.Load())
}

// answering starts a server with a few commands and returns its address.
func answering(t *testing.T, commands map[string]func(*miniserver.Peer)) string {
	s, err := miniserver.NewServer(net.JoinHostPort("127.0.0.1", "0"))
	require.NoError(t, err)
	t.Cleanup(s.Close)
	commands["AUTH"] = func(c *miniserver.Peer) { c.WriteOK() }
	for name, answer := range commands {
		require.NoError(t, s.Register(name, func(c *miniserver.Peer, _ string, _ []string) { answer(c) }))
	}
	return s.Addr().String()
}

func TestParseView(t *testing.T) {
	const nodes = "aa 127.0.0.1:7001@17001 myself,master - 0 0 1 connected 0-5460\n" +
		"bb 127.0.0.1:7002@17002,host master - 0 0 2 connected\n" +
		"cc 127.0.0.1:7003@17003 slave aa 0 0 1 connected\n" +
		"dd 127.0.0.1:7004@17004 master,fail - 0 0 3 disconnected 5461-16383\n"
	v, err := parseView("cluster_state:ok\r\ncluster_slots_assigned:16384\r\n", nodes)
	require.NoError(t, err)
	require.Equal(t, view{ok: true, members: map[string]seen{
		"aa": {address: "127.0.0.1:7001", serves: true},
		"bb": {address: "127.0.0.1:7002"},
		"cc": {address: "127.0.0.1:7003", master: "aa"},
		"dd": {address: "127.0.0.1:7004", serves: true},
	}}, v)
	v, err = parseView("cluster_state:fail\r\n", nodes)
	require.NoError(t, err)
	require.False(t, v.ok)
	_, err = parseView("cluster_state:ok\r\n", "aa 127.0.0.1:7001@17001 master\n")
	require.ErrorContains(t, err, "3 fields, and not 8 or more")
}

func TestParseReplication(t *testing.T) {
	const id = "master_replid:8371b4fb1155b71f4a04d3e1bc3e18c4a990aeeb\r\n"
	const history8371 = "8371b4fb1155b71f4a04d3e1bc3e18c4a990aeeb"
	for _, c := range []struct {
		name, text string
		want       history.Replication
	}{
		{"a master", "# Replication\r\nrole:master\r\nconnected_slaves:1\r\n" + id + "master_repl_offset:42\r\n",
			history.Replication{Role: history.RoleMaster, History: history8371, Offset: 42}},
		{"a replica", "role:slave\r\nmaster_link_status:up\r\nmaster_sync_in_progress:0\r\nslave_repl_offset:40\r\n" +
			id + "master_repl_offset:42\r\n",
			history.Replication{Role: history.RoleReplica, Linked: true, History: history8371, Offset: 40}},
		{"its link is down",
			"role:slave\r\nmaster_link_status:down\r\nmaster_sync_in_progress:0\r\nslave_repl_offset:40\r\n" + id,
			history.Replication{Role: history.RoleReplica, History: history8371, Offset: 40}},
		{"it is loading a copy",
			"role:slave\r\nmaster_link_status:up\r\nmaster_sync_in_progress:1\r\nslave_repl_offset:40\r\n" + id,
			history.Replication{Role: history.RoleReplica, History: history8371, Offset: 40}},
	} {
		seen, err := parseReplication(c.text)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, *seen, c.name)
	}
	_, err := parseReplication("role:sentinel\r\n")
	require.ErrorContains(t, err, `the role "sentinel"`)
	_, err = parseReplication("role:master\r\n")
	require.ErrorContains(t, err, "no master_repl_offset")
}
