package nemesis

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// measured reads a whole number of a fault.
func measured(t *testing.T, f *history.Fault, name string) int {
	t.Helper()
	n, err := strconv.Atoi(f.Measured[name])
	require.NoError(t, err, "%q of %v", name, f.Measured)
	return n
}

func TestFill_RefusesWritesOrEvictsKeys(t *testing.T) {
	for _, policy := range []string{"noeviction", "allkeys-lru", "volatile-ttl"} {
		t.Run(policy, func(t *testing.T) {
			full := func(c *cluster.Config) {
				c.Settings = map[string]string{"maxmemory": "4mb", "maxmemory-policy": policy}
			}
			onLocalWith(t, full, locks.Options{}, func(t *testing.T, r *rig) {
				ctx := context.Background()
				require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k1", time.Second).Type)
				r.sleep(100 * time.Millisecond) // a majority was enough; now all have it
				begun := r.apply(t, Fault{Kind: Fill, Targets: []string{"n2"}})
				f := r.last(t)
				require.Equal(t, history.PhaseBegin, f.Phase)
				require.True(t, f.Effective, f.Measured)
				require.Less(t, measured(t, f, "used_memory before"), measured(t, f, "used_memory"))
				require.Equal(t, strconv.Itoa(4<<20), f.Requested["maxmemory"])

				seen, err := r.cluster.Node("n2").Look(ctx)
				require.NoError(t, err)
				if policy == "noeviction" {
					require.Len(t, seen.Keys, 1, "the lock is there, and the other tenant's keys are no locks")
					require.Zero(t, measured(t, f, "evicted_keys"))
					require.GreaterOrEqual(t, measured(t, f, "used_memory"), 4<<20)
				} else {
					require.Empty(t, seen.Keys)
					require.Positive(t, measured(t, f, "evicted_keys"))
				}
				_, err = r.nemesis.Apply(ctx, Fault{Kind: Fill, Targets: []string{"n2"}})
				require.ErrorContains(t, err, "fill n2: already in effect")

				require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k2", time.Second).Type)
				r.sleep(100 * time.Millisecond)
				require.NoError(t, r.nemesis.End(ctx, begun[0]))
				f = r.last(t)
				require.True(t, f.Effective)
				require.Less(t, measured(t, f, "used_memory"), 4<<20)
				if policy == "noeviction" {
					require.Positive(t, measured(t, f, "refused writes"))
				}

				require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k3", time.Second).Type)
				r.sleep(100 * time.Millisecond)
				seen, err = r.cluster.Node("n2").Look(ctx)
				require.NoError(t, err)
				require.Contains(t, seen.Keys, "k3", "there is room again")
			})
		})
	}
}

// What a server without memory cannot do, it is not asked for.
func TestFill_ThenFlush(t *testing.T) {
	full := func(c *cluster.Config) { c.Settings = map[string]string{"maxmemory": "4mb"} }
	onLocalWith(t, full, locks.Options{}, func(t *testing.T, r *rig) {
		require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k1", time.Second).Type)
		r.sleep(100 * time.Millisecond)
		r.apply(t, Fault{Kind: Fill, Targets: []string{"n2"}})
		r.apply(t, Fault{Kind: Flush, Targets: []string{"n2"}})
		require.True(t, r.last(t).Effective)
		require.Equal(t, "1", r.last(t).Measured["keys before"])
	})
}

func TestFill_NoMaxmemory_NotEffective(t *testing.T) {
	onLocal(t, func(t *testing.T, r *rig) {
		_, err := r.nemesis.Apply(context.Background(), Fault{Kind: Fill, Targets: []string{"n2"}})
		require.ErrorContains(t, err, "its memory has no limit (maxmemory), and is never full")
	})
	onVirtual(t, func(t *testing.T, r *rig) {
		_, err := r.nemesis.Apply(context.Background(), Fault{Kind: Fill, Targets: []string{"n2"}})
		require.EqualError(t, err, "fill n2: needs real Redis servers, which the virtual cluster does not have")
	})
}
