package server

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestViewOfARedisCluster(t *testing.T) {
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
