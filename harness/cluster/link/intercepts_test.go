package link

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
)

var (
	takes = redis.NewScript(`if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then
		return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`)
	extends = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ` +
		`ARGV[2]) end return 0`)
	releases = redis.NewScript(compareAndDelete)
)

// deeds does one thing to the key after another, as locks with scripts do: EVALSHA
// first, and EVAL if the node answers NOSCRIPT.
func deeds(ctx context.Context, db *redis.Client) (all []error) {
	key := []string{"k"}
	return []error{takes.Run(ctx, db, key, "a", "900").Err(), extends.Run(ctx, db, key, "a", "900").Err(),
		releases.Run(ctx, db, key, "a").Err()}
}

// Of three commands with one name, the one is met that does what is asked for.
func TestAnInterceptOfWhatACommandDoes(t *testing.T) {
	for i, deed := range []string{history.Take, history.Extend, history.Release} {
		for _, part := range []history.Part{history.PartCommand, history.PartReply} {
			for _, known := range []bool{false, true} {
				inBubble(t, func(t *testing.T, r *rig) {
					if known { // then each is one EVALSHA
						require.Equal(t, []error{nil, nil, nil}, deeds(context.Background(), r.redis))
					}
					met, err := r.link.Intercept(cluster.Intercept{Command: deed, Part: part, Action: cluster.Drop})
					require.NoError(t, err)
					before, _ := r.link.Count(deed)
					failed := deeds(context.Background(), r.redis)
					for n := range failed {
						require.Equal(t, n == i, failed[n] != nil, "%s %s, known: %v: %v", deed, part, known, failed)
					}
					require.Equal(t, 1, met().Messages)
					received, answered := r.link.Count(deed)
					want := map[history.Part]int{history.PartCommand: 0, history.PartReply: 1}[part]
					require.Equal(t, []int{before + want, before + want}, []int{received, answered})
				})
			}
		}
	}
}

// An EVALSHA that is held, and that the node then does not know, was not the one.
func TestAScriptThatTheNodeHasLost(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		require.Equal(t, []error{nil, nil, nil}, deeds(ctx, r.redis))
		r.link.cfg.Scripts.Answered("n2", releases.Hash(), true)
		other := redis.NewClient(&redis.Options{Dialer: r.redis.Options().Dialer, Protocol: 2, DisableIdentity: true,
			MaxRetries:               -1,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
		require.NoError(t, takes.Run(ctx, r.redis, []string{"k"}, "a", "900").Err())
		require.NoError(t, other.ScriptFlush(ctx).Err())
		require.False(t, r.link.cfg.Scripts.Knows("n1", releases.Hash()))
		require.True(t, r.link.cfg.Scripts.Knows("n2", releases.Hash()), "another node still has it")
		r.link.cfg.Scripts.Answered("n1", releases.Hash(), true) // as after a restart that nobody has seen

		met, err := r.link.Intercept(cluster.Intercept{Command: history.Release, Part: history.PartCommand,
			Action: cluster.Hold, Times: 1})
		require.NoError(t, err)
		done := make(chan error)
		go func() { done <- releases.EvalSha(ctx, r.redis, []string{"k"}, "a").Err() }()
		time.Sleep(10 * time.Millisecond)
		require.Equal(t, 1, met().Messages)
		_, err = r.link.LetGo()
		require.NoError(t, err)
		require.ErrorContains(t, <-done, "NOSCRIPT")
		require.Zero(t, met().Messages, "it is taken back")
		received, answered := r.link.Count(history.Release)
		require.Equal(t, received, answered)
		require.NoError(t, other.Close())
	})
}

// A server that breaks a connection off may come back without its scripts.
func TestAServerThatIsGoneMayForget(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		require.Equal(t, []error{nil, nil, nil}, deeds(ctx, r.redis))
		knows := func() bool { return r.link.cfg.Scripts.Knows("n1", releases.Hash()) }
		require.True(t, knows())
		conn, server := Pipe(r.scheduler, scheduler.Key{})
		near, far := Pipe(r.scheduler, scheduler.Key{})
		r.link.Join(conn, far)
		require.NoError(t, server.Close())
		time.Sleep(10 * time.Millisecond)
		require.True(t, knows(), "a client that leaves says nothing of the node")
		require.NoError(t, near.Close())

		client, inner := Pipe(r.scheduler, scheduler.Key{})
		outer, gone := Pipe(r.scheduler, scheduler.Key{})
		r.link.Join(inner, outer)
		require.NoError(t, gone.Close())
		time.Sleep(10 * time.Millisecond)
		require.False(t, knows())
		require.NoError(t, client.Close())
	})
}
