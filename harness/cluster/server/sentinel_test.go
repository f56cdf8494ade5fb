package server

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSentinelSettings(t *testing.T) {
	all := []Sentinel{{"127.0.0.1:1", "aa"}, {"127.0.0.1:2", "bb"}, {"127.0.0.1:3", "cc"}}
	text, err := SentinelSettings(all[1], all, "127.0.0.1:10", []string{"127.0.0.1:11"})
	require.NoError(t, err)
	require.Equal(t, `sentinel monitor lock 127.0.0.1 10 2
sentinel myid bb
sentinel down-after-milliseconds lock 500
sentinel failover-timeout lock 3000
sentinel known-replica lock 127.0.0.1 11
sentinel known-sentinel lock 127.0.0.1 1 aa
sentinel known-sentinel lock 127.0.0.1 3 cc
requirepass `+Password()+`
sentinel sentinel-pass `+Password()+`
sentinel auth-pass lock `+Password()+`
`, text)
	_, err = SentinelSettings(all[1], all, "nowhere", nil)
	require.ErrorContains(t, err, "nowhere")
}
