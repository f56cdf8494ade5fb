package proxy

import (
	"net"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockproof/harness/cluster"
)

// What comes for a member passes whatever its links are like, until it is down.
func TestAMemberIsReachedPastEveryLink(t *testing.T) {
	s := begin(t, func(want *Run) { want.Clients, want.Members = []string{"c1"}, []string{"n1"} })
	require.NoError(t, s.Link(Path{"c1", "n1"}).Cut(cluster.Both))
	to := func(way string) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.ports[Path{way, "n1"}])) }
	rdb := redis.NewClient(&redis.Options{Addr: to(ToMember), MaxRetries: -1, DisableIdentity: true})
	defer rdb.Close()
	require.NoError(t, rdb.Ping(t.Context()).Err())
	require.NotZero(t, s.ports[Path{ToBus, "n1"}])
	require.NoError(t, s.Move(t.Context(), "n1", ""))
	for _, way := range []string{ToMember, ToBus} {
		conn, err := net.Dial("tcp", to(way))
		require.NoError(t, err)
		_, err = conn.Read(make([]byte, 1))
		require.Error(t, err, "%s of a member that is down is closed", way)
		conn.Close()
	}
}

func TestAMemberHasToBeAServer(t *testing.T) {
	_, err := openRun(Run{Members: []string{"n9"}}, freePorts(t, 2), 2)
	require.ErrorContains(t, err, `the member "n9": there is no such server`)
}
