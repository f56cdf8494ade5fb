package docker

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockproof/harness/cluster"
)

// TestPowerLoss: what was synced stays, and what was not is gone, to the byte.
func TestPowerLoss(t *testing.T) {
	for _, c := range []struct {
		persistence cluster.Persistence
		remembers   bool
	}{
		{cluster.PersistAlways, true},
		{cluster.PersistNo, false},
		{cluster.PersistNone, false},
	} {
		t.Run(string(c.persistence), func(t *testing.T) {
			l := start(t, 1, func(cfg *cluster.Config) { cfg.Persistence = c.persistence })
			n := l.Node("n1")
			require.NoError(t, over(t, l, "c1", "n1").Set(t.Context(), "k1", "token", time.Minute).Err())
			before := onDisk(t, l, "n1")
			lost, err := n.PowerLoss(t.Context())
			require.NoError(t, err)
			require.Equal(t, before-onDisk(t, l, "n1"), lost)
			down, err := n.Look(t.Context())
			require.NoError(t, err)
			require.False(t, down.Up)
			require.NoError(t, n.Start(t.Context()))
			after, err := n.Look(t.Context())
			require.NoError(t, err)
			if c.remembers {
				require.Zero(t, lost)
				require.Equal(t, "token", after.Keys["k1"].Token)
			} else {
				require.Equal(t, c.persistence == cluster.PersistNo, lost > 0, "%d bytes were lost", lost)
				require.Empty(t, after.Keys)
			}
		})
	}
}

// onDisk is how many bytes a server's files have, whether it runs or not.
func onDisk(t *testing.T, c *Cluster, server string) (bytes int64) {
	t.Helper()
	out, err := exec.Command("docker", "exec", c.project.boxes[proxyService].id,
		"find", "/volumes/"+server+"/disk", "-type", "f", "-printf", "%s\n").Output()
	require.NoError(t, err)
	for size := range strings.FieldsSeq(string(out)) {
		n, err := strconv.ParseInt(size, 10, 64)
		require.NoError(t, err)
		bytes += n
	}
	return bytes
}

// TestClockOfANode: it jumps and runs at a rate, also over a restart, and the
// next run's is right again.
func TestClockOfANode(t *testing.T) {
	const (
		jump     = 90 * time.Minute
		rounding = 2 * time.Millisecond
	)
	l := start(t, 2, nil)
	n := l.Node("n1")
	// ahead is how far a clock is ahead of the true one, which it is read somewhere
	// between two readings of.
	ahead := func(n cluster.Node) (least, most time.Duration) {
		before := l.Now()
		at, err := n.Clock(t.Context())
		require.NoError(t, err)
		return time.Duration(at-l.Now()) - rounding, time.Duration(at-before) + rounding
	}
	is := func(n cluster.Node, want time.Duration, why string) {
		t.Helper()
		least, most := ahead(n)
		require.LessOrEqual(t, least, want, why)
		require.GreaterOrEqual(t, most, want, why)
	}
	is(n, 0, "it is right at first")
	require.NoError(t, over(t, l, "c1", "n1").Set(t.Context(), "k1", "token", time.Hour).Err())
	require.NoError(t, n.SetClock(t.Context(), jump, 0))
	is(n, jump, "it has jumped")
	is(l.Node("n2"), 0, "another node's clock was set")
	look, err := n.Look(t.Context())
	require.NoError(t, err)
	require.Empty(t, look.Keys, "the key has not expired by the node's own clock")

	require.NoError(t, n.SetClock(t.Context(), -jump, 2))
	began := time.Now()
	leastBefore, mostBefore := ahead(n)
	between := time.Now()
	time.Sleep(200 * time.Millisecond)
	slept := time.Since(between)
	least, most := ahead(n)
	require.LessOrEqual(t, least-mostBefore, time.Since(began), "it gains as much as passes")
	require.GreaterOrEqual(t, most-leastBefore, slept, "it gains as much as passes")

	require.NoError(t, n.Kill(t.Context()))
	require.NoError(t, n.SetClock(t.Context(), jump, 1), "the machine has a clock while its node is down")
	least, _ = ahead(n)
	require.Greater(t, least, jump)
	require.NoError(t, n.Start(t.Context()))
	least, _ = ahead(n)
	require.Greater(t, least, jump)
	project := l.project.name
	require.NoError(t, l.Close())

	l = start(t, 1, nil)
	require.Equal(t, project, l.project.name)
	is(l.Node("n1"), 0, "the clock of the run before")
}

// TestDisturbedFsyncs: a server that syncs before it answers is held up, refuses
// when its disk fails, and is well again afterwards.
func TestDisturbedFsyncs(t *testing.T) {
	const by = 150 * time.Millisecond
	l := start(t, 1, func(cfg *cluster.Config) { cfg.Persistence = cluster.PersistAlways })
	n, db := l.nodes["n1"], over(t, l, "c1", "n1")
	set := func() (time.Duration, error) {
		began := time.Now()
		err := db.Set(within(t, 2*time.Second), "k1", "token", time.Minute).Err()
		return time.Since(began), err
	}
	_, err := set()
	require.NoError(t, err)
	require.NoError(t, n.SlowFsync(by))
	took, err := set()
	require.NoError(t, err)
	require.GreaterOrEqual(t, took, by)
	done, err := n.Disturbed()
	require.NoError(t, err)
	require.Positive(t, done.Delayed)
	require.Zero(t, done.Failed)

	require.NoError(t, n.SlowFsync(0))
	took, err = set()
	require.NoError(t, err)
	require.Less(t, took, by)

	// Redis with appendfsync always ends when an fsync fails.
	require.NoError(t, n.FailFsync(true))
	_, err = set()
	require.Error(t, err)
	done, err = n.Disturbed()
	require.NoError(t, err)
	require.Positive(t, done.Failed)
	require.Eventually(t, func() bool { look, err := n.Look(t.Context()); return err == nil && !look.Up },
		5*time.Second, 10*time.Millisecond)
	require.NoError(t, n.FailFsync(false))
	require.NoError(t, n.Start(t.Context()))
	_, err = set()
	require.NoError(t, err)
}

// TestAFullDisk: the kernel itself has no room for a server's writes. With
// appendfsync always the server ends of it; with everysec it refuses writes until
// there is room again. A disk that is full stays so whatever becomes of the server.
func TestAFullDisk(t *testing.T) {
	for _, setting := range []cluster.Persistence{cluster.PersistAlways, cluster.PersistEverysec} {
		t.Run(string(setting), func(t *testing.T) {
			l := start(t, 2, func(cfg *cluster.Config) { cfg.Persistence, cfg.Fillable = setting, []string{"n1"} })
			n, db := l.nodes["n1"], over(t, l, "c1", "n1")
			require.ErrorContains(t, l.nodes["n2"].FillDisk(true), "the disk of n2 is not a small one")
			write := func() error { return db.Set(within(t, 2*time.Second), "k1", "token", time.Minute).Err() }
			require.NoError(t, write())
			require.NoError(t, n.FillDisk(true))
			// The last block of its file has some room yet.
			require.Eventually(t, func() bool { return write() != nil }, 20*time.Second, time.Millisecond)
			done, err := n.Disturbed()
			require.NoError(t, err)
			require.Positive(t, done.Full)

			if setting == cluster.PersistAlways {
				require.Eventually(t, func() bool { look, err := n.Look(t.Context()); return err == nil && !look.Up },
					5*time.Second, 10*time.Millisecond)
			} else {
				require.ErrorContains(t, write(), "MISCONF")
				require.NoError(t, n.Kill(t.Context()))
			}
			require.NoError(t, n.FillDisk(false))
			require.NoError(t, n.Start(t.Context()))
			require.NoError(t, write())
		})
	}
}
