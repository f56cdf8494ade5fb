package league

import (
	"context"
	"errors"

	"github.com/go-redsync/redsync/v4"
	pools "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redigopool "github.com/go-redsync/redsync/v4/redis/redigo"
	"github.com/gomodule/redigo/redis"
	redisv9 "github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locktest"
)

func redsyncs() []Lock {
	base := Lock{
		Module: "github.com/go-redsync/redsync/v4", On: Several, Belief: "until the time of Until()",
		Promises: []Quote{{"Redsync provides a Redis-based distributed mutual exclusion lock implementation for Go as " +
			"described in " +
			"[this post]", "README.md:5"}},
	}
	std, bound, fast, onRedigo := base, base, base, base
	std.Name, std.Test = "go-redsync/redsync", "redsync"
	std.SetUp = "a new Mutex for each lock, with the TTL as its expiry; go-redis 9"
	std.Findings = []Finding{hungNode(), goRedisDeadlines([]string{"cancelled-acquire"}, []string{"cancelled-acquire"})}
	std.New = newRedsync(onGoRedis)
	bound.Name, bound.Test = "go-redsync/redsync, deadlines enabled", "redsync-deadlines"
	bound.SetUp = "as go-redsync/redsync, on a go-redis with ContextTimeoutEnabled, without which it ignores redsync's " +
		"deadlines, and without retries; the node timeout is the scenario's"
	bound.Findings = []Finding{{
		Scenarios: []string{"late-release"}, Confirm: []string{"late-release"},
		Short: "two clients hold the lock: all attempts share one token",
		What: "the late release of a failed attempt deletes the key of the next attempt, which has succeeded with the same " +
			"token: two clients hold the lock",
		Place:  "mutex.go:80 (one value for all of mutex.go:86's attempts)",
		Reply:  "a value for each attempt would fix it, and costs nothing",
		Report: "redsync-one-token.md",
	}, {
		Scenarios: []string{"late-set", "half-is-not-majority"}, Confirm: []string{"late-set"},
		Short: "an orphan key can block everybody for one TTL",
		What:  "a SET that lands after its own release leaves a key for a whole TTL, on each such server",
		Place: "mutex.go:121-127", Reply: "the TTL covers that",
	}, {
		Scenarios: []string{"cancelled-acquire"}, Confirm: []string{"cancelled-acquire"},
		Short: "a cancelled acquire leaves its keys",
		What:  "once the caller has cancelled, no key is released: the attempt's release uses the same context",
		Place: "mutex.go:121-127", Reply: "the TTL covers that; context.WithoutCancel would fix it",
	}, {
		Scenarios: []string{"partition-during-contention"}, Confirm: []string{"partition-during-contention"},
		Short: "acquire waits for every server after a majority has answered",
		What:  "acquire waits for all five servers, although three have answered",
		Place: "mutex.go:269-310", Reply: "WithFailFast(true)", Depends: "on the node timeout and on WithFailFast",
	}}
	bound.New = func(env locktest.Env) (locktest.Lock, error) {
		return newRedsync(heedingDeadlines, redsync.WithTimeoutFactor(float64(env.NodeTimeout)/float64(env.TTL)))(env)
	}
	fast.Name, fast.Test = "go-redsync/redsync, fail-fast", "redsync-failfast"
	fast.SetUp = "as redsync, with WithFailFast(true)"
	fast.Findings = []Finding{{
		Scenarios: []string{"expired-while-down", "restart-delay-too-short", "restart-delay-mixed-ttls",
			"partition-during-contention"},
		Confirm: []string{"expired-while-down"},
		Short:   "acquire waits for hung servers",
		What: "an attempt without a majority for or against it waits for the hung servers, and go-redis by default " +
			"ignores redsync's deadline and waits for 5 s, four times",
		Place:   "mutex.go:289-310; go-redis v9.23.0 options.go:176, options.go:741",
		Reply:   "ContextTimeoutEnabled",
		Depends: "on the client's options; it occurs with the defaults of both",
	}, goRedisDeadlines([]string{"cancelled-acquire"}, []string{"cancelled-acquire"})}
	fast.New = newRedsync(onGoRedis, redsync.WithFailFast(true))
	onRedigo.Name, onRedigo.Test = "go-redsync/redsync on redigo", "redsync-redigo"
	onRedigo.SetUp = "as redsync, on pools of redigo 1.9.3"
	onRedigo.NoExplore = true
	onRedigo.Findings = []Finding{{
		Scenarios: []string{"hung-node-later", "hung-node", "partition-during-contention"},
		Confirm:   []string{"scenarios/hung-node-later.yaml"},
		Short:     "one hung server of five blocks Lock for ever",
		What: "one server of five that stops answering on an open connection blocks Lock for ever, whatever the " +
			"caller's context: the adapter for redigo uses the context to get a connection, and sends every command " +
			"without it",
		Place:  "redis/redigo/redigo.go:42-64",
		Reply:  "redigo has a read timeout: DialReadTimeout. By default there is none",
		Hangs:  true,
		Report: "redsync-redigo-context.md",
	}, {
		Scenarios: []string{"cancelled-acquire"}, Confirm: []string{"cancelled-acquire"},
		Short: "a cancelled acquire does not return in time",
		What:  "a caller that cancels keeps waiting: the adapter for redigo sends commands without the context",
		Place: "redis/redigo/redigo.go:42-64", Reply: "redigo has a read timeout: DialReadTimeout",
		Report:  "redsync-redigo-context.md",
		Depends: "on the client's timeouts",
	}}
	onRedigo.New = newRedsync(onRedigoPool)
	return []Lock{std, bound, fast, onRedigo}
}

// newRedsync makes redsync's lock on a client library's pools.
func newRedsync(pool func(locktest.Env, int) pools.Pool, options ...redsync.Option) locktest.New {
	return func(env locktest.Env) (locktest.Lock, error) {
		var all []pools.Pool
		for i := range env.Servers() {
			all = append(all, pool(env, i))
		}
		sync := redsync.New(all...)
		options := append([]redsync.Option{redsync.WithExpiry(env.TTL)}, options...)
		return locktest.LockFunc(func(ctx context.Context, key string) (locktest.Lease, error) {
			mutex := sync.NewMutex(key, options...)
			return redsyncLease{mutex}, redsyncError(mutex.LockContext(ctx))
		}), nil
	}
}

// hungNode: with go-redis's defaults, redsync's node timeout does not bind.
func hungNode() Finding {
	return Finding{
		Scenarios: []string{"hung-node", "hung-node-later", "minority-down", "partition-during-contention"},
		Confirm:   []string{"hung-node"},
		Short:     "one hung server of five blocks everybody",
		What: "one hung server of five keeps all clients from the lock: redsync waits for all five, and go-redis by " +
			"default ignores redsync's deadline and waits for 5 s, four times",
		Place:   "mutex.go:269-310; go-redis v9.23.0 options.go:176, options.go:741",
		Reply:   "ContextTimeoutEnabled, or WithFailFast(true): both help",
		Depends: "on the client's options; it occurs with the defaults of both",
	}
}

// redsyncError distinguishes a held lock from other errors.
func redsyncError(err error) error {
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) {
		return errors.Join(err, locktest.ErrHeld)
	}
	return err
}

func onGoRedis(env locktest.Env, i int) pools.Pool { return goredis.NewPool(env.Client(i)) }

func heedingDeadlines(env locktest.Env, i int) pools.Pool {
	return goredis.NewPool(env.Client(i, func(o *redisv9.Options) { o.ContextTimeoutEnabled, o.MaxRetries = true, -1 }))
}

func onRedigoPool(env locktest.Env, i int) pools.Pool {
	server := env.Server(i)
	return redigopool.NewPool(&redis.Pool{MaxIdle: 3, DialContext: func(ctx context.Context) (redis.Conn, error) {
		return redis.DialContext(ctx, "tcp", server.Addr, redis.DialContextFunc(env.Dial),
			redis.DialPassword(server.Password))
	}})
}

type redsyncLease struct{ *redsync.Mutex } // with Until

func (l redsyncLease) Token() string { return l.Value() }

func (l redsyncLease) Extend(ctx context.Context) error {
	_, err := l.ExtendContext(ctx)
	return err
}

func (l redsyncLease) Release(ctx context.Context) error {
	_, err := l.UnlockContext(ctx)
	return err
}
