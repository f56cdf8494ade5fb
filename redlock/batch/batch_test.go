package batch_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/batch"
	"example.org/lockproof/redlock/rig"
	"example.org/lockproof/redlock/server"
)

var (
	decorated = rig.Decorated(batch.Pipelines)
	hurried   = rig.With(func(o *redlock.Options) { o.RetryMin, o.RetryMax = time.Millisecond, 5*time.Millisecond })
)

// writes counts how often a command is last in a write to the first server.
func writes(u *rig.User, name string) *atomic.Int32 {
	var n atomic.Int32
	u.Links[0].OnCommand(rig.At(name, func() error { n.Add(1); return nil }))
	return &n
}

// together acquires one key for each caller at once, a nanosecond apart.
func together(t *testing.T, u *rig.User, callers int, each func(err error)) {
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			time.Sleep(time.Duration(i))
			_, err := u.TryAcquire(t.Context(), fmt.Sprint("k", i), rig.TTL)
			each(err)
		})
	}
	all.Wait()
}

func TestPipelines_ConcurrentCommands_ShareOneWrite(t *testing.T) {
	type row struct {
		options []rig.Option
		writes  int32
	}
	rig.Cases(t, 1, map[string]row{
		"with pipelines: the first alone, all others together": {[]rig.Option{decorated}, 2},
		"without: every command alone":                         {nil, 20},
	}, func(t *testing.T, cl *rig.Cluster, c row) {
		u := cl.User(1, c.options...)
		u.WarmUp(t)
		n := writes(u, "set")
		u.Links[0].OnReply(rig.Slow("set", batch.Wait/2))
		together(t, u, 20, func(err error) { require.NoError(t, err) })
		require.Equal(t, c.writes, n.Load())
	})
}

func TestPipelines_SlowExchange_DelaysOthersByOneWait(t *testing.T) {
	rig.InBubble(t, 1, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1, decorated, rig.Patient(time.Second))
		u.WarmUp(t)
		var slowed atomic.Bool
		u.Links[0].OnReply(func(string) error {
			if !slowed.Swap(true) {
				time.Sleep(300 * time.Millisecond)
			}
			return nil
		})
		go func() { _, _ = u.TryAcquire(t.Context(), "far", rig.TTL) }()
		synctest.Wait()
		began := time.Now()
		_, err := u.TryAcquire(t.Context(), rig.Key, rig.TTL)
		require.NoError(t, err)
		require.Equal(t, batch.Wait, time.Since(began))
	})
}

func TestPipelines_BrokenConnection_FailsOnlyItsOwnCallers(t *testing.T) {
	rig.InBubble(t, 1, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1, decorated)
		u.WarmUp(t)
		u.Links[0].OnReply(rig.Breaking("set"))
		together(t, u, 5, func(err error) { require.Error(t, err) })
		u.Links[0].OnReply(nil)
		_, err := u.TryAcquire(t.Context(), rig.Key, rig.TTL)
		require.NoError(t, err)
	})
}

func TestPipelines_CancelledCaller_OthersInThePipelineSucceed(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1, decorated)
		u.OnCommand(rig.Slow("set", 5*time.Millisecond))
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i%4 == 0 {
					time.AfterFunc(time.Duration(i)*100*time.Microsecond, cancel)
				}
				l, err := u.TryAcquire(ctx, fmt.Sprint("k", i), rig.TTL)
				if i%4 == 0 && err != nil {
					require.ErrorIs(t, err, context.Canceled)
					return
				}
				require.NoError(t, err)
				require.NoError(t, l.Release(t.Context()))
			})
		}
		all.Wait()
		require.NoError(t, u.Close())
		for _, s := range c.Servers {
			require.Empty(t, s.Keys())
		}
	})
}

// One caller retries every few milliseconds while another holds the lock and one node of three does not answer. The
// cost must not depend on the retry rate, whether or not the node was identified before it hung.
func TestPipelines_HungNode_BoundedConnectionsAndGoroutines(t *testing.T) {
	cases := map[string]bool{"identified before": true, "never identified": false}
	rig.Cases(t, 3, cases, func(t *testing.T, c *rig.Cluster, identified bool) {
		u := c.User(1, decorated, hurried)
		if identified {
			u.WarmUp(t)
		}
		c.Occupy(1, 2)
		u.Each((*rig.Link).Hang, 3)
		before := runtime.NumGoroutine()

		ctx, cancel := context.WithTimeout(t.Context(), 10*rig.TTL)
		defer cancel()
		var goroutines, connections atomic.Int32
		go func() {
			for ctx.Err() == nil {
				goroutines.Store(max(goroutines.Load(), int32(runtime.NumGoroutine()-before)))
				connections.Store(max(connections.Load(), int32(u.Clients[2].PoolStats().TotalConns)))
				time.Sleep(rig.TTL / 20)
			}
		}()
		_, err := u.Acquire(ctx, rig.Key, rig.TTL)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		synctest.Wait()
		// Without a bound: 5,000 and 20 if it was identified, 1,700 and 20 if not.
		require.LessOrEqual(t, int(goroutines.Load()), 200, "goroutines")
		require.LessOrEqual(t, int(connections.Load()), 12, "connections")
		t.Logf("at most %d connections and %d goroutines", connections.Load(), goroutines.Load())
	})
}

func TestPipelines_HungNodeRecovers_IsUsedAgain(t *testing.T) {
	rig.InBubble(t, 3, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1, decorated, hurried)
		u.WarmUp(t)
		c.Occupy(1, 2)
		var toN1, toN3 atomic.Int32
		counting := func(asked *atomic.Int32, ends error) func(*rig.Link) {
			return func(l *rig.Link) {
				l.OnCommand(func(command string) error {
					if command == "set" {
						asked.Add(1)
					}
					return ends
				})
			}
		}
		u.Each(counting(&toN1, nil), 1)
		u.Each(counting(&toN3, rig.ErrLost), 3)
		ctx, cancel := context.WithTimeout(t.Context(), 2*rig.TTL)
		defer cancel()
		_, err := u.Acquire(ctx, rig.Key, rig.TTL)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Greater(t, toN1.Load(), int32(100))
		require.Positive(t, toN3.Load())
		require.Less(t, toN3.Load(), toN1.Load()/2, "the hung node was not spared")

		c.Free(1, 2)
		u.OnCommand(nil, 3)
		time.Sleep(10 * rig.TTL) // by then the last hung call has ended
		l := u.Must(t)
		require.Equal(t, []string{l.Token(), l.Token(), l.Token()}, c.Owners())
	})
}

// A node may be used without a lock, for example to look at a key.
func TestPipelines_ContextsWithoutDeadline_AreNotCutShort(t *testing.T) {
	rig.InBubble(t, 1, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1)
		nodes, err := server.Nodes(u.Clients, batch.Pipelines)
		require.NoError(t, err)
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				claim := redlock.Claim{Key: fmt.Sprint("k", i), Token: "t", TTL: time.Minute}
				_, _, err := nodes[0].SetIfAbsent(context.Background(), claim)
				require.NoError(t, err)
			})
		}
		all.Wait()
	})
}
