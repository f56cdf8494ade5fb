package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/realcluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/needs"
)

func TestNew_Fails_LeavesNothing(t *testing.T) {
	needRedis(t)
	clustertest.OwnState(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cfg := cluster.Config{Nodes: []string{"n1", "n2"}, Clients: []string{"c1"}, Record: func(history.Event) {}}
	_, err := New(ctx, cfg, cluster.Choice{})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, clustertest.Records(t))
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left)
}

// Another cluster goes on.
func TestClose_FaultsInEffect_EndsEverything(t *testing.T) {
	t.Parallel()
	l := start(t, 4, nil)
	paused, _ := spawn(t, l, "c1")
	looping, _ := spawn(t, l, "c2")
	require.NoError(t, dial(t, l.Address("c1", "n4")).Set(t.Context(), "k1", "x", time.Minute).Err())
	other := start(t, 4, nil)
	require.Empty(t, clustertest.Look(t, other.Node("n4")).Keys)
	require.NoError(t, l.Link("c1", "n4").Cut(history.Both))
	require.NoError(t, l.Node("n1").Pause(t.Context()))
	require.NoError(t, l.Node("n2").Kill(t.Context()))
	require.NoError(t, paused.Pause())
	require.NoError(t, looping.Send(loop))
	f := familyOf(l, paused, looping)
	record := l.record.File()
	require.FileExists(t, record)

	begin := time.Now()
	require.NoError(t, l.Close())
	require.Less(t, time.Since(begin), 2*time.Second)
	require.False(t, isAlive(f.Children...))
	require.NoDirExists(t, f.Folder)
	require.NoFileExists(t, record)
	require.True(t, clustertest.Look(t, other.Node("n4")).Up)
	require.DirExists(t, other.record.Folder())

	require.NoError(t, l.Close(), "a second close changes nothing")
	require.EqualError(t, l.Node("n2").Start(t.Context()), "start n2: the cluster is closed")
	_, err := l.Spawn(t.Context(), setup("c1"), nil)
	require.EqualError(t, err, "spawn c1: the cluster is closed")
}

// The start cannot end by itself: the test stops the process as soon as it exists.
func TestClose_DuringAStart_EndsTheStart(t *testing.T) {
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
	if err := <-failed; err != nil { // the start may have been faster than the pause
		require.True(t, errors.Is(err, context.Canceled), err)
	}
	require.False(t, isAlive(n.Host.(*host).proc.Load().PID()))
}

// It runs alone: other tests have their own descriptors and goroutines.
func TestClose_LeaksNoDescriptorsOrGoroutines(t *testing.T) {
	_, err := os.Stat("/proc/self/fd")
	needs.Check(t, needs.System, err)
	descriptors := func() int {
		fds, err := filepath.Glob("/proc/self/fd/*")
		require.NoError(t, err)
		return len(fds)
	}
	round := func() {
		l := start(t, 3, func(cfg *cluster.Config) { cfg.StallLimit = time.Second })
		w, _ := spawn(t, l, "c1")
		db := dial(t, l.Address("c1", "n1"))
		require.NoError(t, db.Ping(t.Context()).Err())
		require.NoError(t, db.Close())
		require.NoError(t, l.Node("n1").Kill(t.Context()))
		require.NoError(t, l.Node("n1").Start(t.Context()))
		require.NoError(t, w.Close())
		require.NoError(t, l.Close())
	}
	round() // creates permanent things: the forking thread, the poller
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

// Another user of the machine can dial loopback, list command lines and read public files. None of these gives access
// to a server, nor its password.
func TestServers_OtherUserOfTheMachine_IsRefused(t *testing.T) {
	t.Parallel()
	l := start(t, 1, func(cfg *cluster.Config) {
		cfg.Replicas, cfg.Sentinels = map[string]string{"r1": "n1"}, 3
	})
	addresses := slices.Collect(maps.Values(l.Paths()))
	for _, h := range l.hosts {
		addresses = append(addresses, h.addr)
	}
	require.Len(t, addresses, 2*(3+3)+1+2+3+3, "of c1 and c2, of r1, of the Sentinels, and the servers' own")
	clustertest.RefusesStrangers(t, addresses)

	for _, h := range l.hosts {
		words, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", h.proc.Load().PID()))
		if err == nil { // on systems with /proc
			require.NotContains(t, string(words), realcluster.Password())
		}
	}
	open, err := os.Stat(l.record.Folder())
	require.NoError(t, err)
	require.Zero(t, open.Mode().Perm()&0o077, "others can enter %s", l.record.Folder())
	text, err := os.ReadFile(filepath.Join(l.record.Folder(), "n1", "redis.conf"))
	require.NoError(t, err)
	require.Contains(t, string(text), "requirepass "+realcluster.Password())
}

func TestConformance(t *testing.T) {
	t.Parallel()
	clustertest.Run(t, Kind, func(t *testing.T, nodes int, change func(*cluster.Config), test func(clustertest.Bench)) {
		l := start(t, nodes, change)
		test(clustertest.Bench{Cluster: l,
			Over: func(client, node string) *redis.Client { return dial(t, l.Address(client, node)) }})
	})
}

func TestParseVersion(t *testing.T) {
	for out, want := range map[string]string{
		"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0\n": "redis 7.0.15",
		"Redis server v=8.0.2 sha=0":         "redis 8.0.2",
		"Valkey server v=8.1.1 sha=00000000": "valkey 8.1.1",
	} {
		p, err := parseVersion(out)
		require.NoError(t, err)
		require.Equal(t, want, p.String())
	}
	for _, out := range []string{"hello\n", ""} {
		_, err := parseVersion(out)
		require.EqualError(t, err, fmt.Sprintf("%q is not the version line of a Redis server", strings.TrimSpace(out)))
	}
}

func TestAvailable_UnusableServer_SaysHowToGetOne(t *testing.T) {
	const how = "install Redis 7.0 or later (Debian and Ubuntu: apt-get install redis-server) " +
		"and have redis-server in PATH"
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	check := func(why string) {
		t.Helper()
		err := Available("")
		var u *cluster.Unsupported
		require.ErrorAs(t, err, &u)
		require.EqualError(t, err, "the local cluster cannot do any run: "+why+"; "+how)
		_, newErr := New(t.Context(), cluster.Config{}, cluster.Choice{})
		require.Equal(t, err, newErr)
	}
	file := filepath.Join(dir, "redis-server")
	check(`redis-server was not found (exec: "redis-server": executable file not found in $PATH)`)
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\nexit 9\n"), 0o700))
	check("`" + file + " --version` failed: exit status 9")
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\necho 'Redis server v=5.0.7 sha=0'\n"), 0o700))
	check(file + ": version 5.0.7 is too old: 7.0 or later is needed")
}

func TestKnows_WaitAOF_DependsOnTheVersion(t *testing.T) {
	for version, knows := range map[string]bool{"7.0.15": false, "7.2.4": true, "8.0.2": true, "9.1.2": true, "8": false} {
		require.Equal(t, knows, program{product: "redis", version: version}.knows("WAITAOF"), version)
	}
}
