package redlock

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A server that says 10 s may have been up for little more than 9; and what it was asked
// after the SET tells how long it had been up then, and not when it carried the SET out.
func TestUptimeIsTakenForTheLeastThatItCanBe(t *testing.T) {
	const second = time.Second
	for _, c := range []struct {
		up, since time.Duration
		enough    bool
	}{{10 * second, 0, false}, {11 * second, 0, true}, {11 * second, time.Nanosecond, false}, {12 * second, second, true}} {
		g := unsure(10 * second)
		err := g.decide(identity{runID: "a", tellsUp: true, up: c.up}, 1, 0, 0, c.since)
		require.Equal(t, c.enough, err == nil, "up for %s, asked %s later: %v", c.up, c.since, err)
	}
	g := unsure(10 * second)
	g.dialled.Store(1)
	require.NoError(t, g.decide(identity{runID: "a", tellsUp: true, up: 11 * second}, 1, 0, 0, 0))
	require.True(t, g.sure(), "as long as is needed is enough for the next time as well")
}

// A run began after the one before was heard, whatever its clock says.
func TestARunIsNoOlderThanTheOneBeforeAllows(t *testing.T) {
	const second = time.Second
	for answered, enough := range map[time.Duration]bool{59 * second: false, 60 * second: true} {
		g := unsure(10 * second)
		require.NoError(t, g.decide(identity{runID: "a", tellsUp: true, up: time.Hour}, 1, 50*second, 51*second, 0))
		err := g.decide(identity{runID: "b", tellsUp: true, up: time.Hour}, 1, 52*second, answered, 0)
		require.Equal(t, enough, err == nil, answered)
	}
}

// Before any server has said so, it has not been up for long enough, however many connections there are.
func TestANewGuardIsSureOfNothing(t *testing.T) {
	client := redis.NewClient(&redis.Options{})
	defer client.Close()
	g, err := newGuard(client, longest)
	require.NoError(t, err)
	for range 3 {
		require.False(t, g.sure())
		g.dialled.Add(1)
	}
	_ = g.learn(identity{runID: "a", tellsUp: true, up: settled}, 3, 0, 0)
	require.True(t, g.sure())
	_ = g.learn(identity{runID: "b", tellsUp: true, up: 0}, 3, 0, 0)
	require.False(t, g.sure(), "another server answers, which has just started")
}
