package link

import (
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
)

// A connection that is closed while a fault holds what it sent is still in toxiproxy's
// list when faults begin and end; they must not stumble over it.
func TestFaultsOnALinkWhoseConnectionsEnd(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			start, events := time.Now(), scheduler.New()
			defer events.End()
			l := New(Config{Client: "c1", Node: "n1", Now: func() int64 { return int64(time.Since(start)) }})
			cut := false
			for range 60 {
				switch r.IntN(4) {
				case 0:
					client, near := Pipe(events, scheduler.Key{})
					far, server := Pipe(events, scheduler.Key{})
					l.Join(near, far)
					go func() { _, _ = io.Copy(io.Discard, server) }()
					_, err := client.Write(resp("SET", "k1", "v"))
					require.NoError(t, err)
					time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
					require.NoError(t, client.Close())
				case 1:
					if cut = !cut; cut {
						require.NoError(t, l.Cut(cluster.Both))
					} else {
						require.NoError(t, l.Heal(cluster.Both))
					}
				case 2:
					require.NoError(t, l.Delay(cluster.Both, time.Duration(r.IntN(3))*time.Millisecond))
				default:
					time.Sleep(time.Duration(r.IntN(5)) * time.Millisecond)
				}
			}
			require.NoError(t, l.Close())
		})
	}
}
