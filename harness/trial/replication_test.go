package trial

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

func TestInSync(t *testing.T) {
	master := func(offset int64) *history.Replication {
		return &history.Replication{Role: history.RoleMaster, History: "a", Offset: offset}
	}
	replica := func(linked bool, sequence string, offset int64) *history.Replication {
		return &history.Replication{Role: history.RoleReplica, Linked: linked, History: sequence, Offset: offset}
	}
	require.True(t, inSync(master(10), replica(true, "a", 10)))
	require.True(t, inSync(master(10), replica(true, "a", 12)), "it went on between the two looks")
	require.False(t, inSync(master(10), replica(true, "a", 9)))
	require.False(t, inSync(master(10), replica(false, "a", 10)))
	require.False(t, inSync(master(10), replica(true, "b", 10)), "the data of the master's life before")
	require.False(t, inSync(master(10), master(10)), "it was promoted")
	require.False(t, inSync(nil, replica(true, "a", 10)), "the master is down")
	require.False(t, inSync(master(10), nil))
}
