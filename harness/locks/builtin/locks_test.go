package builtin

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/redlock/rig"
)

const ttl = time.Second

// silent suppresses go-redis's reports of nodes that are down.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(silent{}) }

// node is one server in the bubble.
type node struct {
	*rig.Server
	down atomic.Bool
}

func (n *node) dial(context.Context, string, string) (net.Conn, error) {
	if n.down.Load() {
		return nil, errors.New("connection refused")
	}
	return n.Dial()
}

// world is some nodes and their clients.
type world struct {
	*rig.Cluster
	t       *testing.T
	nodes   []*node
	clients uint64
}

func inBubble(t *testing.T, count int, test func(t *testing.T, w *world)) {
	t.Helper()
	rig.InBubble(t, count, func(t *testing.T, c *rig.Cluster) {
		w := &world{Cluster: c, t: t}
		time.Sleep(24 * time.Hour) // no server has restarted recently
		for _, s := range c.Servers {
			w.nodes = append(w.nodes, &node{Server: s})
		}
		test(t, w)
	})
}

// env is the environment of a new client.
func (w *world) env(options locks.Options) locks.Env {
	w.clients++
	options.TTL = ttl
	i := 0
	u := w.User(w.clients, rig.Clients(func(o *redis.Options) {
		o.Dialer, o.ContextTimeoutEnabled, o.DisableIdentity, o.PipelinePoolSize = w.nodes[i].dial, true, true, -1
		i++
	}))
	return locks.Env{Clock: u.Clock, Rand: rand.NewChaCha8([32]byte{byte(w.clients)}), Options: options, Nodes: u.Clients}
}

func (w *world) lock(name string, options locks.Options) locks.Lock {
	w.t.Helper()
	kind, err := locks.Find(name)
	require.NoError(w.t, err)
	l, err := kind.New(w.env(options))
	require.NoError(w.t, err)
	w.Closers = append(w.Closers, l)
	return l
}

// everyLock runs a test for each lock, with two exceptions: one whose clients have equal tokens, which has a test of
// its own, and one that renews, whose leases have no validity.
func everyLock(t *testing.T, test func(t *testing.T, w *world, k locks.Kind)) {
	for _, name := range locks.Names() {
		if name == "redlock-guessable" || name == Renewing {
			continue
		}
		t.Run(name, func(t *testing.T) {
			kind, err := locks.Find(name)
			require.NoError(t, err)
			inBubble(t, 5, func(t *testing.T, w *world) { test(t, w, kind) })
		})
	}
}

func TestEveryKindIsDocumented(t *testing.T) {
	require.Equal(t, []string{"get-then-del", "plain-del", "redlock", "redlock-fenced",
		"redlock-fenced-by-highest", "redlock-fenced-by-lock-token", "redlock-fenced-by-one-node", "redlock-fenced-too-early",
		"redlock-guarded", "redlock-guessable", "redlock-renewing", "redlock-sequential", "redsync", "setnx-expire", "single",
		"single-evalsha", "single-fail-open", "single-missed-wake-up", "single-one-release", "single-primary",
		"single-process-token", "single-reentrant", "single-renew-by-set", "single-stale-primary", "single-subscribed",
		"single-two-level"}, locks.Names())
	for _, name := range locks.Names() {
		kind, err := locks.Find(name)
		require.NoError(t, err)
		require.Equal(t, name, kind.Name)
		require.NotEmpty(t, kind.Doc, name)
		require.NotContains(t, kind.Doc, "\n", name)
	}
	_, err := locks.Find("redlok")
	require.ErrorContains(t, err, "there are get-then-del, plain-del, redlock,")
}

func TestExclusionReleaseAndReacquisition(t *testing.T) {
	everyLock(t, func(t *testing.T, w *world, k locks.Kind) {
		a, b := w.lock(k.Name, locks.Options{Tries: 1}), w.lock(k.Name, locks.Options{Tries: 1})
		ctx := t.Context()

		lease, err := a.Acquire(ctx, "k1")
		require.NoError(t, err)
		require.NotEmpty(t, lease.Token())
		require.Greater(t, lease.Validity(), ttl*9/10)
		require.LessOrEqual(t, lease.Validity(), ttl)
		require.Equal(t, k.Fencing, lease.Fence() > 0)

		_, err = b.Acquire(ctx, "k1")
		require.Error(t, err)
		require.Equal(t, history.ReasonHeld, locks.Reason(err), err)

		other, err := b.Acquire(ctx, "k2")
		require.NoError(t, err, "another key is another lock")
		require.NoError(t, other.Release(ctx))

		require.NoError(t, lease.Release(ctx))
		next, err := b.Acquire(ctx, "k1")
		require.NoError(t, err)
		require.NotEqual(t, lease.Token(), next.Token())
		if k.Fencing && k.Name != "redlock-fenced-by-lock-token" {
			require.Greater(t, next.Fence(), lease.Fence())
		}
	})
}

func TestHolderGone_LockFreeAfterTTL(t *testing.T) {
	everyLock(t, func(t *testing.T, w *world, k locks.Kind) {
		a, b := w.lock(k.Name, locks.Options{}), w.lock(k.Name, locks.Options{})
		lease, err := a.Acquire(t.Context(), "k1")
		require.NoError(t, err)
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 100*ttl)
		defer cancel()
		_, err = b.Acquire(ctx, "k1")
		if k.Name == "single-missed-wake-up" { // its mistake
			require.Equal(t, history.ReasonCancelled, locks.Reason(err), err)
			return
		}
		require.NoError(t, err)
		require.LessOrEqual(t, lease.Validity(), time.Duration(0), "the old belief was over first")
		require.Less(t, time.Since(start), ttl*5/4)
	})
}

func TestExtend_ProlongsByATTL(t *testing.T) {
	everyLock(t, func(t *testing.T, w *world, k locks.Kind) {
		a, b := w.lock(k.Name, locks.Options{}), w.lock(k.Name, locks.Options{Tries: 1})
		lease, err := a.Acquire(t.Context(), "k1")
		require.NoError(t, err)
		time.Sleep(ttl * 3 / 4)
		err = lease.Extend(t.Context())
		if !k.Extends {
			require.Equal(t, history.ReasonRefused, locks.Reason(err), err)
			return
		}
		require.NoError(t, err)
		require.Greater(t, lease.Validity(), ttl*9/10)
		time.Sleep(ttl * 3 / 4)
		_, err = b.Acquire(t.Context(), "k1")
		require.Equal(t, history.ReasonHeld, locks.Reason(err), err)

		time.Sleep(ttl)
		_, err = b.Acquire(t.Context(), "k1")
		require.NoError(t, err)
		require.Equal(t, history.ReasonLost, locks.Reason(lease.Extend(t.Context())), "b holds it")
	})
}

func TestLateRelease_OnlyPlainDelRemovesOthersKey(t *testing.T) {
	everyLock(t, func(t *testing.T, w *world, k locks.Kind) {
		a, b, c := w.lock(k.Name, locks.Options{}), w.lock(k.Name, locks.Options{}), w.lock(k.Name, locks.Options{Tries: 1})
		late, err := a.Acquire(t.Context(), "k1")
		require.NoError(t, err)
		untaken, err := b.Acquire(t.Context(), "k2")
		require.NoError(t, err)
		time.Sleep(2 * ttl)
		require.Equal(t, history.ReasonLost, locks.Reason(untaken.Release(t.Context())), "the key has expired")
		_, err = b.Acquire(t.Context(), "k1")
		require.NoError(t, err)
		err = late.Release(t.Context())
		_, stolen := c.Acquire(t.Context(), "k1")
		if k.Name == "plain-del" {
			require.NoError(t, err)
			require.NoError(t, stolen)
			return
		}
		require.Equal(t, history.ReasonLost, locks.Reason(err), err)
		require.Equal(t, history.ReasonHeld, locks.Reason(stolen), stolen)
	})
}

func TestAcquire_NeedsAMajority(t *testing.T) {
	everyLock(t, func(t *testing.T, w *world, k locks.Kind) {
		for _, n := range w.nodes[3:] {
			n.down.Store(true)
		}
		lease, err := w.lock(k.Name, locks.Options{Tries: 1}).Acquire(t.Context(), "k1")
		require.NoError(t, err)
		require.NoError(t, lease.Release(t.Context()))

		for i, n := range w.nodes {
			n.down.Store(i < 3)
		}
		_, err = w.lock(k.Name, locks.Options{Tries: 2}).Acquire(t.Context(), "k1")
		if k.Name == "single-fail-open" { // its mistake
			require.NoError(t, err)
			return
		}
		require.Equal(t, history.ReasonNoMajority, locks.Reason(err), err)
		require.ErrorContains(t, err, "connection refused")
	})
}

func TestAcquire_CancelledContext(t *testing.T) {
	everyLock(t, func(t *testing.T, w *world, k locks.Kind) {
		_, err := w.lock(k.Name, locks.Options{}).Acquire(t.Context(), "k1")
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), ttl/2)
		defer cancel()
		_, err = w.lock(k.Name, locks.Options{}).Acquire(ctx, "k1")
		require.Equal(t, history.ReasonCancelled, locks.Reason(err), err)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestNew_RefusesInvalidOptions(t *testing.T) {
	good := locks.Options{TTL: ttl}
	tests := []struct {
		name   string
		lock   string
		change func(*locks.Options)
		want   string
	}{
		{"rules of a lock without rules", "redsync", func(o *locks.Options) { o.Without = []string{"Majority"} },
			"redsync has no rules to switch off: --lock redlock has them"},
		{"a rule that does not exist", "redlock", func(o *locks.Options) { o.Without = []string{"Majorty"} }, "Majority"},
		{"the same of the fenced lock", "redlock-fenced", func(o *locks.Options) { o.Without = []string{"nonsense"} },
			"ElapsedCheck"},
		{"no TTL", "single", func(o *locks.Options) { o.TTL = 0 }, "1ms or more"},
		{"an invalid range", "single", func(o *locks.Options) { o.RetryMin, o.RetryMax = 2, 1 }, "above the second"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, w *world) {
				kind, err := locks.Find(test.lock)
				require.NoError(t, err)
				env := w.env(locks.Options{})
				env.Options = good
				test.change(&env.Options)
				_, err = kind.New(env)
				require.ErrorContains(t, err, test.want)
				require.Equal(t, history.ReasonRefused, locks.Reason(err))
			})
		})
	}
}

func TestNew_NoNodes_Fails(t *testing.T) {
	for _, name := range locks.Names() {
		kind, err := locks.Find(name)
		require.NoError(t, err)
		_, err = kind.New(locks.Env{Options: locks.Options{TTL: ttl}})
		require.ErrorContains(t, err, "no nodes", name)
	}
}
