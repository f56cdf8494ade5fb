package virtual

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestNoTwoMessagesArriveAtOneInstant draws messages of every link, direction
// and of some connections, which set out whenever they like.
func TestNoTwoMessagesArriveAtOneInstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		links := rapid.IntRange(1, 200).Draw(t, "links")
		base := time.Duration(rapid.IntRange(0, 1_000_000).Draw(t, "base"))
		seed := rapid.Uint64().Draw(t, "seed")
		arrivals := map[int64]bool{}
		for slot := range links {
			var now int64
			travel := newTravel(mix(seed, string(rune(slot))), func() int64 { return now }, base, slot, links)
			for connection := range 3 {
				for _, toNode := range []bool{true, false} {
					now = rapid.Int64Range(0, 1_000_000).Draw(t, "now")
					took := int64(travel.message(toNode, connection, 7))
					require.GreaterOrEqual(t, took, travel.base)
					require.LessOrEqual(t, took, travel.base+travel.base/2+travel.comb)
					require.False(t, arrivals[now+took], "slot %d, connection %d arrives with another", slot, connection)
					arrivals[now+took] = true
				}
			}
		}
	})
}

func TestTravelDependsOnTheMessageAlone(t *testing.T) {
	now := func() int64 { return 1_234_567 }
	a, b := newTravel(1, now, 0, 3, 30), newTravel(1, now, 0, 3, 30)
	b.dial() // what else happens on the link makes no difference
	b.message(true, 0, 0)
	require.Equal(t, a.message(true, 2, 5), b.message(true, 2, 5))

	different := map[time.Duration]bool{}
	for i := range 100 {
		different[a.message(true, 0, i)] = true
	}
	require.Greater(t, len(different), 5, "the draws should spread")
	require.GreaterOrEqual(t, a.dial(), 2*defaultDelay, "there and back")
}
