package builtin

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

func init() {
	onOneNode("single-subscribed",
		"one node: subscribes, asks, and waits for the message of a release, but not beyond the key's expiry",
		func(env locks.Env) (locks.Lock, error) { return newSubscribed(env, true) })
	onOneNode("single-missed-wake-up",
		"one node, naive: asks, subscribes, and waits for the message of a release without a bound",
		func(env locks.Env) (locks.Lock, error) { return newSubscribed(env, false) })
}

// subscribed saves its server the retries: each release publishes a message.
type subscribed struct {
	*nodeLock
	server   *redis.Client
	rechecks bool // retries after subscribing, and when the key must have expired
}

// deleteAndPublish deletes the key if its value is still ours, and notifies waiting clients.
// KEYS: the lock. ARGV: the token, the channel.
var deleteAndPublish = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PUBLISH', ARGV[2], '')
return redis.call('DEL', KEYS[1])`)

func channelOf(key string) string { return "released:" + key }

func newSubscribed(env locks.Env, rechecks bool) (locks.Lock, error) {
	l := newNodeLock(env)
	l.release = func(ctx context.Context, key, token string) (bool, error) {
		return deleteAndPublish.Run(ctx, l.node, []string{key}, token, channelOf(key)).Bool()
	}
	server, one := l.node.(*redis.Client)
	if !one {
		return nil, locks.RefusalError("a subscription is with one server, and %T has many", l.node)
	}
	return &subscribed{l, server, rechecks}, nil
}

func (l *subscribed) Acquire(ctx context.Context, key string) (locks.Lease, error) {
	var messages *redis.PubSub
	defer func() { stopReceiving(messages) }()
	held := false
	return locks.Retry(ctx, l.env, func() (locks.Lease, error) {
		if held {
			messages = l.await(ctx, messages, key)
		}
		lease, err := l.attempt(ctx, key)
		held = err != nil && locks.Reason(err) == history.ReasonHeld
		return lease, err
	})
}

// await subscribes, unless it has, and waits for a message. The naive lock makes two mistakes here: it misses a release
// before its subscription, and an expiry sends no message at all.
func (l *subscribed) await(ctx context.Context, messages *redis.PubSub, key string) *redis.PubSub {
	bound := time.Duration(0) // none
	if l.rechecks {
		if messages == nil {
			messages = l.server.Subscribe(ctx, channelOf(key))
			return keepIf(messages, receive[*redis.Subscription](ctx, messages, l.env.NodeTimeout))
		}
		left, err := l.server.PTTL(ctx, key).Result()
		if err != nil || left <= 0 {
			return messages
		}
		bound = left
	}
	if messages == nil {
		messages = l.server.Subscribe(ctx, channelOf(key))
	}
	return keepIf(messages, receive[*redis.Message](ctx, messages, bound))
}

// keepIf closes a subscription after an error.
func keepIf(messages *redis.PubSub, err error) *redis.PubSub {
	if err != nil {
		stopReceiving(messages)
		return nil
	}
	return messages
}

// receive waits for a message of type M until the bound (0: none), or until ctx ends.
func receive[M any](ctx context.Context, messages *redis.PubSub, bound time.Duration) error {
	defer context.AfterFunc(ctx, func() { stopReceiving(messages) })()
	for {
		got, err := messages.ReceiveTimeout(context.WithoutCancel(ctx), bound)
		if _, wanted := got.(M); wanted || err != nil {
			return err
		}
	}
}

// stopReceiving closes a subscription, which ends a wait for its messages.
func stopReceiving(messages *redis.PubSub) {
	if messages != nil {
		_ = messages.Close() // it may be closed already
	}
}
