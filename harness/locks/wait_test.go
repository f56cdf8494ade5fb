package locks

import (
	"strconv"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
)

// replicated answers WAIT as a master does whose replica is cut off: it has
// nothing of a connection that has written since, and all of one that has not.
func (n *node) replicated(cutOff bool) {
	wrote := map[*server.Peer]bool{}
	n.Server().SetPreHook(func(p *server.Peer, cmd string, args ...string) bool {
		switch cmd {
		case "SET":
			wrote[p] = true
		case "WAIT":
			have := 1
			if cutOff && wrote[p] {
				have = 0
			}
			p.WriteInt(have)
			return true
		}
		return false
	})
}

func TestWaitCountsOnTheConnectionThatWrote(t *testing.T) {
	for _, tt := range []struct {
		connection Connection
		cutOff     bool
		granted    bool
	}{
		{ConnectionOne, false, true},
		{ConnectionOne, true, false},
		{ConnectionPool, false, true},
		{ConnectionPool, true, true}, // the mistake
	} {
		t.Run(string(tt.connection)+" cut off "+strconv.FormatBool(tt.cutOff), func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, w *world) {
				w.nodes[0].replicated(tt.cutOff)
				_, err := w.lock("single", Options{Tries: 1, Wait: 1, Connection: tt.connection}).Acquire(t.Context(), "k1")
				if tt.granted {
					require.NoError(t, err)
					return
				}
				require.ErrorContains(t, err, "0 of 1 replicas have acknowledged it")
				require.NotEqual(t, history.ReasonHeld, Reason(err))
			})
		})
	}
}
