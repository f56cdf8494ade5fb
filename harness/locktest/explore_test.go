package locktest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/locktest"
	"example.org/lockproof/internal/needs"
	"example.org/lockproof/redlock"
)

// deletingAll is the reference with a planted mistake: Release deletes the key without a look at its token.
func deletingAll(env locktest.Env) (locktest.Lock, error) {
	lock, err := good(env)
	return &deleting{lock.(*goodLock), env}, err
}

type deleting struct {
	*goodLock
	env locktest.Env
}

func (l *deleting) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	lease, err := l.goodLock.Acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	return &deletingLease{lease.(*redlock.Lease), l.env.Clients(noRetries), key, l.env}, nil
}

type deletingLease struct {
	*redlock.Lease
	nodes []*redis.Client
	key   string
	env   locktest.Env
}

func (l *deletingLease) Release(ctx context.Context) error {
	err := l.Lease.Release(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.env.NodeTimeout)
	defer cancel()
	var asked sync.WaitGroup
	for _, node := range l.nodes {
		asked.Go(func() { node.Del(ctx, l.key) })
	}
	asked.Wait()
	return err
}

// panicking is the reference, but panics without a majority.
func panicking(env locktest.Env) (locktest.Lock, error) {
	lock, err := good(env)
	return &panicked{lock.(*goodLock)}, err
}

type panicked struct{ *goodLock }

func (l *panicked) Acquire(ctx context.Context, key string) (locktest.Lease, error) {
	lease, err := l.goodLock.Acquire(ctx, key)
	if errors.Is(err, redlock.ErrNoMajority) {
		panic("nobody thought of this")
	}
	return lease, err
}

// The found schedule is printed, recorded and replayed first: it fails until the lock is fixed.
func TestExplore_PlantedMistake_RecordsAndReplaysSchedule(t *testing.T) {
	needs.Long(t, "it searches once for each planted mistake")
	r := victim(t, "explored")
	r.failed(t, "TestVictims/explored", "explore")
	r.says(t, "BUG: mutual-exclusion: violated, and kept by the reference of its class", "▲",
		"(replayed first from now on)",
		"--- SKIP: TestVictims/explored/restart-without-persistence")
	recorded, err := filepath.Glob(filepath.Join(r.folder, "testdata", "lockproof", "TestVictims", "explored", "*.yaml"))
	require.NoError(t, err)
	require.Len(t, recorded, 1)

	again := inProcess(t, r.folder, "TestVictims/explored/replay")
	again.failed(t, "TestVictims/explored", "replay")
	require.NotContains(t, again.output, "TestVictims/explored/explore")

	mended := t.TempDir()
	folder := filepath.Join(mended, "testdata", "lockproof", "TestVictims", "explored-mended")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	text, err := os.ReadFile(recorded[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "found.yaml"), text, 0o644))
	passes := inProcess(t, mended, "TestVictims/explored-mended")
	require.True(t, passes.passed, passes.output)
	passes.says(t, "--- PASS: TestVictims/explored-mended/replay/found", "--- PASS: TestVictims/explored-mended/explore",
		"mutual-exclusion   violated in 0 of ")
}

func TestExplore_LockPanics_ReportsFailure(t *testing.T) {
	r := victim(t, "explored-panics")
	r.failed(t, "TestVictims/explored-panics", "explore")
	r.says(t, "panic: nobody thought of this", "(replayed first from now on)")
	again := inProcess(t, r.folder, "TestVictims/explored-panics/replay")
	again.failed(t, "TestVictims/explored-panics", "replay")
}

// Faults on servers that the lock does not use would have no effect.
func TestExplore_LockOnOneServer_GetsOneServer(t *testing.T) {
	needs.Long(t, "it searches")
	r := victim(t, "explored-on-one")
	require.True(t, r.passed, r.output)
	r.says(t, "--- PASS: TestVictims/explored-on-one/explore", "mutual-exclusion   violated in 0 of ")
}
