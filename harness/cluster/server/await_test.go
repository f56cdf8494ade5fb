package server_test

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"

	miniserver "github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/server"
)

// What Valkey 9.1 does: WAIT counts a replica that says itself that its link is down.
func TestReplicasAreAwaitedUntilTheyFollow(t *testing.T) {
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
	require.NoError(t, server.AwaitReplicas(t.Context(), master, []string{replica}))
	require.EqualValues(t, 3, asked.Load())
}

// answering is the address of a server with a few commands.
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
