package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/needs"
)

func TestNewThatFailsLeavesNothing(t *testing.T) {
	needRedis(t)
	ownState(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cfg := cluster.Config{Nodes: []string{"n1", "n2"}, Clients: []string{"c1"}, Record: func(history.Event) {}}
	_, err := New(ctx, cfg, cluster.Choice{})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, records(t))
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left)
}

// Clusters at one time have addresses and folders of their own, and one ends without the other.
func TestClustersSideBySide(t *testing.T) {
	t.Parallel()
	a, b := start(t, 2, nil), start(t, 2, nil)
	require.NoError(t, dial(t, a.Address("c1", "n1")).Set(t.Context(), "k1", "x", time.Minute).Err())
	for _, name := range []string{"n1", "n2", history.StoreName} {
		require.NotEqual(t, at(a, name).addr, at(b, name).addr)
	}
	require.NoError(t, a.Close())
	look, err := b.Node("n1").Look(t.Context())
	require.NoError(t, err)
	require.True(t, look.Up)
	require.Empty(t, look.Keys)
	require.NoDirExists(t, a.record.Folder())
	require.DirExists(t, b.record.Folder())
}

func TestCloseWhileFaultsAreInEffect(t *testing.T) {
	t.Parallel()
	l := start(t, 4, nil)
	paused, _ := spawn(t, l, client.Setup{Name: "c1"})
	looping, _ := spawn(t, l, client.Setup{Name: "c2"})
	db := dial(t, l.Address("c1", "n4"))
	require.NoError(t, db.Ping(t.Context()).Err())
	require.NoError(t, l.Link("c1", "n4").Cut(cluster.Both))
	require.NoError(t, l.Node("n1").Pause(t.Context()))
	require.NoError(t, l.Node("n2").Kill(t.Context()))
	require.NoError(t, paused.Pause())
	require.NoError(t, looping.Send(client.Command{Do: client.DoLoop}))
	f := familyOf(l, paused, looping)
	record := l.record.File()
	require.FileExists(t, record)

	begin := time.Now()
	require.NoError(t, l.Close())
	require.Less(t, time.Since(begin), 2*time.Second)
	require.False(t, isAlive(f.Children))
	require.NoDirExists(t, f.Folder)
	require.NoFileExists(t, record)

	require.NoError(t, l.Close(), "a second close changes nothing")
	require.EqualError(t, l.Node("n2").Start(t.Context()), "start n2: the cluster is closed")
	_, err := l.Spawn(t.Context(), client.Setup{Name: "c1"}, nil)
	require.EqualError(t, err, "spawn c1: the cluster is closed")
}

// TestCloseEndsAStart closes a cluster while a node is coming up that never
// will: its process is stopped as soon as it is there.
func TestCloseEndsAStart(t *testing.T) {
	t.Parallel()
	l := start(t, 1, nil)
	n := l.Nodes["n1"]
	require.NoError(t, n.Kill(t.Context()))
	old := n.Host.(*host).proc.Load()
	failed := make(chan error, 1)
	go func() { failed <- n.Start(context.Background()) }()
	eventually(t, "the new process is there", func() bool { return n.Host.(*host).proc.Load() != old })
	_ = n.Host.(*host).proc.Load().Pause(t.Context())
	begin := time.Now()
	require.NoError(t, l.Close())
	require.Less(t, time.Since(begin), 2*time.Second)
	if err := <-failed; err != nil { // it may have been quicker than the pause
		require.True(t, errors.Is(err, context.Canceled), err)
	}
	require.False(t, n.Host.(*host).proc.Load().Identity().Alive())
}

// TestNothingLeaks runs alone: other tests have descriptors and goroutines of
// their own.
func TestNothingLeaks(t *testing.T) {
	_, err := os.Stat("/proc/self/fd")
	needs.Check(t, needs.System, err)
	descriptors := func() int {
		fds, err := filepath.Glob("/proc/self/fd/*")
		require.NoError(t, err)
		return len(fds)
	}
	round := func() {
		l := start(t, 3, func(cfg *cluster.Config) { cfg.StallLimit = time.Second })
		w, _ := spawn(t, l, client.Setup{Name: "c1"})
		db := dial(t, l.Address("c1", "n1"))
		require.NoError(t, db.Ping(t.Context()).Err())
		require.NoError(t, db.Close())
		require.NoError(t, l.Node("n1").Kill(t.Context()))
		require.NoError(t, l.Node("n1").Start(t.Context()))
		require.NoError(t, w.Close())
		require.NoError(t, l.Close())
	}
	round() // what is made once and kept: the forking thread, the poller
	var fds, goroutines int
	eventually(t, "goroutines settle", func() bool {
		before := goroutines
		fds, goroutines = descriptors(), runtime.NumGoroutine()
		return before == goroutines
	})
	for range 3 {
		round()
	}
	eventually(t, "as many descriptors and goroutines as before", func() bool {
		return descriptors() <= fds && runtime.NumGoroutine() <= goroutines
	})
}
