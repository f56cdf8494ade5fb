package nemesis

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/history"
)

// acquire has a client acquire a key, and gives how that came out.
func (r *rig) acquire(t *testing.T, name, key string, within time.Duration) history.Event {
	t.Helper()
	<-r.clients.do(t, name, client.Command{Do: client.DoAcquire, Key: key, Within: within})
	all := r.outcomes(name, history.OpAcquire)
	return all[len(all)-1]
}

// A node that is busy with a script says so, and one that is blocked says nothing; a
// majority of them keeps everybody from the lock until the script is over.
func TestOccupy_BusyAndBlock(t *testing.T) {
	for kind, answer := range map[Kind]string{Busy: "BUSY", Block: "nothing"} {
		t.Run(string(kind), func(t *testing.T) {
			onClusters(t, func(t *testing.T, r *rig) {
				const lasts = 400 * time.Millisecond
				require.Equal(t, history.TypeOK, r.acquire(t, "c2", "k2", time.Second).Type, "its connections are open")
				begun := r.apply(t, Fault{Kind: kind, Targets: []string{"n1", "n2"}, Duration: lasts})
				require.True(t, r.last(t).Effective)
				require.Equal(t, answer, r.last(t).Measured["answer"])
				_, err := r.nemesis.Apply(context.Background(), Fault{Kind: kind, Targets: []string{"n1"}, Duration: lasts})
				require.ErrorContains(t, err, "already in effect")

				refused := r.acquire(t, "c1", "k1", lasts/4)
				require.Equal(t, history.TypeFail, refused.Type, "one node is no majority")
				if kind == Busy {
					require.Contains(t, refused.Error, "BUSY")
				}
				for _, a := range begun {
					require.NoError(t, r.nemesis.End(context.Background(), a))
					require.True(t, r.last(t).Effective)
					require.Positive(t, *r.last(t).Affected, "messages that were sent meanwhile")
				}
				require.Equal(t, history.TypeOK, r.acquire(t, "c2", "k1", 5*time.Second).Type)
			})
		})
	}
}

// What occupies a node ends with its server, and the next server knows nothing of it.
func TestOccupy_KillEndsIt(t *testing.T) {
	for _, kind := range []Kind{Busy, Block} {
		t.Run(string(kind), func(t *testing.T) {
			onClusters(t, func(t *testing.T, r *rig) {
				r.apply(t, Fault{Kind: kind, Targets: []string{"n1"}, Duration: time.Minute})
				r.apply(t, Fault{Kind: Kill, Targets: []string{"n1"}})
				require.Empty(t, r.nemesis.activeOn("n1", Busy, Block), "it is over")
				r.apply(t, Fault{Kind: Start, Targets: []string{"n1"}})
				seen, err := r.cluster.Node("n1").Look(context.Background())
				require.NoError(t, err)
				require.True(t, seen.Up)
			})
		})
	}
}
