package front

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/suite"
)

// A play has a sentence about a lost payment exactly if the checker found protected data violated.
func TestTabs_LostPayment_MatchesTheChecker(t *testing.T) {
	tabs, err := Tabs(context.Background(), suite.Run)
	require.NoError(t, err)
	want := map[string]string{ // by value, in tenths of the TTL
		"pause":   "✓✓✓✓✓✓✓✓✓✓✓✗✗✗✗✗✗✗✗✗✗",
		"restart": "✗✗✗✗✗✗✗✓✓✓✓✓✓✓✓✓✓✓✓✓",
		"clock":   "✓✓✓✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗✗",
	}
	for _, tab := range tabs {
		got := ""
		for _, p := range tab.Plays {
			bad := false
			for _, b := range p.Beats {
				bad = bad || b.Bad
			}
			require.Equal(t, p.Lost, bad, "%s at %v TTL", tab.ID, p.Value)
			got += map[bool]string{true: "✗", false: "✓"}[p.Lost]
		}
		require.Equal(t, want[tab.ID], got, tab.ID)
		require.True(t, tab.Plays[tab.Start].Lost, "%s begins with a failure", tab.ID)
	}
}

func TestPlay_Pause_IsKleppmannsExample(t *testing.T) {
	s, err := read("pause")
	require.NoError(t, err)
	p, err := play(context.Background(), suite.Run, s)
	require.NoError(t, err)
	var texts []string
	for _, b := range p.Beats[1:] {
		texts = append(texts, b.Text)
	}
	require.Equal(t, strings.TrimSpace(`
c1 asks for the lock. n1, n2, n3, n4 and n5 say yes: c1 has the lock for 1 s.
c1 reads the account: no payment yet.
c1 falls asleep before it can write: a garbage collection, say. It does not notice.
c2 asks for the lock, too. n1, n2, n3, n4 and n5 have c1’s key: no. It tries again and again.
c1’s key expires on n1, n2, n3, n4 and n5. c1 is asleep, and cannot know.
n1, n2, n3, n4 and n5 say yes: c2 has the lock for 1 s.
c2 reads the account: no payment yet.
c2 books its payment.
c1 wakes up. For c1 no time has passed: it goes on where it was.
c1 writes what it worked out before, long after its lease has ended. It never saw c2’s payment, and writes over it.`),
		strings.Join(texts, "\n"))
}
