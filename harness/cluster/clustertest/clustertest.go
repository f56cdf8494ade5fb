package clustertest

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockproof/harness/cluster"
)

// Bench is a cluster with clients c1 and c2, for one test.
type Bench struct {
	cluster.Cluster
	// Over makes a Redis client over a link; the bench closes it.
	Over func(client, node string) *redis.Client
}

// With runs a test on a new cluster of so many nodes, in virtual time if the kind has it, and closes the cluster. change,
// unless nil, changes its configuration.
type With func(t *testing.T, nodes int, change func(*cluster.Config), test func(b Bench))

// ctx never ends: a test's own context belongs to real time.
var ctx = context.Background()

// Run runs the whole suite.
func Run(t *testing.T, with With) {
	for _, part := range []struct {
		name string
		test func(*testing.T, With)
	}{
		{"what a node remembers", remembers},
		{"a pause", pauses},
		{"a kill", kills},
		{"a flush", flushes},
		{"a clock", clocks},
		{"an alias", aliases},
		{"a cut", cuts},
		{"a delay", delays},
		{"a held message", holds},
		{"a lost message", loses},
		{"a dropped message", drops},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, with) })
	}
}

// setting sends a SET and returns how it ends.
func setting(db *redis.Client, key string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- db.Set(ctx, key, "token", time.Minute).Err() }()
	return done
}

// within is a context for what must not take long.
func within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

// has reports whether a node has a key. How soon it answers on a busy machine is not what is tested: it is asked again.
func has(t *testing.T, n cluster.Node, key string) bool {
	t.Helper()
	look, err := n.Look(ctx)
	for range 10 {
		if err == nil {
			break
		}
		look, err = n.Look(ctx)
	}
	require.NoError(t, err)
	require.True(t, look.Up)
	_, found := look.Keys[key]
	return found
}

// open reports whether an operation has not ended.
func open(done <-chan error) bool {
	select {
	case <-done:
		return false
	default:
		return true
	}
}

// settle is long against a round trip.
const settle = 100 * time.Millisecond
