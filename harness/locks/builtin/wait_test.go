package builtin

import (
	"fmt"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// replicated answers WAIT as a master does whose replica is cut off: it has
// nothing of a connection that has written since, and all of one that has not.
func (n *node) replicated(cutOff bool) {
	wrote := map[*server.Peer]bool{}
	n.Server().SetPreHook(func(p *server.Peer, cmd string, args ...string) bool {
		switch cmd {
		case "SET":
			wrote[p] = true
		case "WAIT", "WAITAOF":
			have := 1
			if cutOff && wrote[p] {
				have = 0
			}
			if cmd == "WAITAOF" {
				p.WriteLen(2)
				p.WriteInt(1)
			}
			p.WriteInt(have)
			return true
		}
		return false
	})
}

func TestWaitCountsOnTheConnectionThatWrote(t *testing.T) {
	for _, tt := range []struct {
		connection locks.Connection
		disks      bool
		cutOff     bool
		refusal    string // "": it is granted
	}{
		{locks.ConnectionOne, false, false, ""},
		{locks.ConnectionOne, false, true, "0 of 1 replicas have acknowledged it"},
		{locks.ConnectionPool, false, false, ""},
		{locks.ConnectionPool, false, true, ""}, // the mistake
		{locks.ConnectionOne, true, false, ""},
		{locks.ConnectionOne, true, true, "0 of 1 replicas have it on their disks"},
		{locks.ConnectionPool, true, true, ""}, // likewise
	} {
		t.Run(fmt.Sprintf("%s disks %t cut off %t", tt.connection, tt.disks, tt.cutOff), func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, w *world) {
				w.nodes[0].replicated(tt.cutOff)
				o := locks.Options{Tries: 1, Wait: 1, WaitAOF: tt.disks, Connection: tt.connection}
				_, err := w.lock("single", o).Acquire(t.Context(), "k1")
				if tt.refusal == "" {
					require.NoError(t, err)
					return
				}
				require.ErrorContains(t, err, tt.refusal)
				require.NotEqual(t, history.ReasonHeld, locks.Reason(err))
			})
		})
	}
}
