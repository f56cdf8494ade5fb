package settings

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The flags lead to this server, where another one may listen on the default port.
func TestClientReachesThisServer(t *testing.T) {
	for lines, want := range map[string]string{
		"":                                     "redis-cli",
		"bind * -::*":                          "redis-cli",
		"requirepass \"\"":                     "redis-cli",
		"requirepass secret\nport 7000":        "redis-cli --askpass -p 7000",
		"bind 10.0.0.5 127.0.0.1\nport 6380":   "redis-cli -p 6380",
		"bind 10.0.0.5":                        "redis-cli -h 10.0.0.5",
		"port 0\nunixsocket /run/redis/r.sock": "redis-cli -s /run/redis/r.sock",
		"port 0\ntls-port 6390":                "redis-cli --tls -p 6390",
		"port 6379\nport 7000\ntls-port 7001":  "redis-cli -p 7000",
	} {
		r, err := ParseRedis("redis.conf", lines)
		require.NoError(t, err)
		require.Equal(t, want, r.Client(), lines)
	}
}
