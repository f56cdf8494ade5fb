package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

func TestInfoReplication(t *testing.T) {
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
		{"its link is down", "role:slave\r\nmaster_link_status:down\r\nmaster_sync_in_progress:0\r\nslave_repl_offset:40\r\n" + id,
			history.Replication{Role: history.RoleReplica, History: history8371, Offset: 40}},
		{"it is loading a copy", "role:slave\r\nmaster_link_status:up\r\nmaster_sync_in_progress:1\r\nslave_repl_offset:40\r\n" + id,
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
