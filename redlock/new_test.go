package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/rig"
	"example.org/lockproof/redlock/server"
)

func nodes(t *testing.T, clients ...redis.UniversalClient) []redlock.Node {
	t.Helper()
	all, err := server.Nodes(clients)
	require.NoError(t, err)
	return all
}

func client(addr string) redis.UniversalClient { return redis.NewClient(&redis.Options{Addr: addr}) }

func TestNew_InvalidOptions_Fails(t *testing.T) {
	for want, o := range map[string]redlock.Options{
		"NodeTimeout -1ns":        {NodeTimeout: -1},
		"Drift 1: want":           {Drift: 1},
		"Drift -0.1: want":        {Drift: -0.1},
		"Tries -1":                {Tries: -1},
		"RetryMin 2ns":            {RetryMin: 2, RetryMax: 1},
		"MaxExtensions -1":        {MaxExtensions: -1},
		`no rule named "Majorty"`: {Without: []redlock.Rule{"Majorty"}},
	} {
		_, err := redlock.New(nodes(t, client("a:1")), o)
		require.ErrorContains(t, err, want)
	}
	_, err := redlock.New(nil, redlock.Options{})
	require.ErrorContains(t, err, "want one for each server")
	_, err = redlock.New([]redlock.Node{nil}, redlock.Options{})
	require.ErrorContains(t, err, "want one for each server")
	_, err = server.Nodes([]redis.UniversalClient{client("a:1"), (*redis.Client)(nil)})
	require.ErrorContains(t, err, "client 1 is nil")
}

// DistinctNodes before anything is sent. Package guard compares run ids.
func TestNew_ServerListedTwice_Fails(t *testing.T) {
	cluster := func(addr string) redis.UniversalClient {
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}})
	}
	sentinel := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"s:1"}})
	a := client("a:1")
	for name, list := range map[string][]redis.UniversalClient{
		"one client twice":          {a, client("b:1"), a},
		"one address twice":         {a, client("a:1")},
		"a Redis Cluster twice":     {cluster("a:1"), cluster("b:1")},
		"a cluster beside a server": {a, cluster("b:1")},
		"a client behind Sentinel":  {sentinel, sentinel},
	} {
		_, err := redlock.New(nodes(t, list...), redlock.Options{})
		require.ErrorIs(t, err, redlock.ErrDuplicateNode, name)
		_, err = redlock.New(nodes(t, list...), redlock.Options{Without: []redlock.Rule{redlock.DistinctNodes}})
		require.NoError(t, err, name)
	}
	_, err := redlock.New(nodes(t, cluster("a:1")), redlock.Options{})
	require.NoError(t, err, "one alone is a lock on one node")
}

// A caller may use its slice again, for example for the next lock.
func TestNew_CallerChangesItsList_KeepsItsNodes(t *testing.T) {
	rig.InBubble(t, 1, func(t *testing.T, c *rig.Cluster) {
		list := nodes(t, c.User(1).Clients[0])
		off := []redlock.Rule{redlock.RetryJitter}
		lock, err := redlock.New(list, redlock.Options{Without: off})
		require.NoError(t, err)
		list[0], off[0] = nil, redlock.CompareAndDelete
		l, err := lock.TryAcquire(t.Context(), rig.Key, rig.TTL)
		require.NoError(t, err)
		require.NoError(t, c.Servers[0].Set(rig.Key, "another"))
		require.ErrorIs(t, l.Release(t.Context()), redlock.ErrLost)
		require.NoError(t, lock.Close())
	})
}

func TestAcquire_RandomSourceFails_Fails(t *testing.T) {
	rig.InBubble(t, 1, func(t *testing.T, c *rig.Cluster) {
		random := func(bytes string) rig.Option {
			return rig.With(func(o *redlock.Options) { o.Rand = strings.NewReader(bytes) })
		}
		_, err := c.User(1, random("too few bytes")).TryAcquire(t.Context(), rig.Key, rig.TTL)
		require.ErrorContains(t, err, "drawing random bytes")
		c.Occupy(1)
		_, err = c.User(1, random("just enough for 1 go")).Acquire(t.Context(), rig.Key, rig.TTL)
		require.ErrorContains(t, err, "drawing random bytes")
	})
}

func TestAttemptError_NamesEveryCause(t *testing.T) {
	cause := errors.New("node 2 (n3:6379): connection refused")
	err := error(&redlock.AttemptError{Op: "acquire", Key: "k", Need: 3, Got: 1, Tries: 7,
		Reason: redlock.ErrNoMajority, Ended: context.Canceled, Nodes: []error{cause}})
	for _, target := range []error{redlock.ErrNoMajority, context.Canceled, cause} {
		require.ErrorIs(t, err, target)
	}
	require.NotErrorIs(t, err, redlock.ErrHeld)
	require.EqualError(t, err, `redlock: acquire "k": no majority of the nodes answered; 1 of 3 needed nodes said yes `+
		`at the last of 7 attempts; node 2 (n3:6379): connection refused; cut short: context canceled`)
}

// A nil error among the causes is invalid: callers that walk the causes may panic (package errors).
func TestAttemptError_HasNoNilCause(t *testing.T) {
	for _, err := range []*redlock.AttemptError{{}, {Reason: redlock.ErrHeld}, {Ended: context.Canceled}} {
		require.NotContains(t, err.Unwrap(), nil)
	}
}

func TestSystemClock_Advances(t *testing.T) {
	c := redlock.SystemClock()
	began := c.Now()
	timer := c.NewTimer(2 * time.Millisecond)
	<-timer.C()
	require.GreaterOrEqual(t, c.Now()-began, 2*time.Millisecond)
	require.False(t, timer.Stop())
	require.WithinDuration(t, time.Now(), c.Wall(), time.Second)
}
