package dials

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/gomodule/redigo/redis"
)

// ErrHeld: another client has the lock.
var ErrHeld = errors.New("held by another")

// Locker locks on one server: New("redis-1:6379", "", CompareAndDelete).
type Locker struct {
	pool    *redis.Pool
	release string // a script
	closed  chan struct{}
}

// Scripts that release a lock. PlainDelete deletes the key of any owner.
const (
	CompareAndDelete = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
	PlainDelete      = `return redis.call('DEL', KEYS[1])`
)

// New makes a locker that connects to a server on demand.
func New(address, password, release string) *Locker {
	return &Locker{release: release, closed: make(chan struct{}),
		pool: &redis.Pool{MaxIdle: 4, Dial: func() (redis.Conn, error) {
			return redis.Dial("tcp", address, redis.DialPassword(password), redis.DialConnectTimeout(time.Second),
				redis.DialReadTimeout(5*time.Second))
		}}}
}

// Lock is one lease.
type Lock struct {
	by         *Locker
	key, token string
}

// Lock acquires a key for a TTL.
func (l *Locker) Lock(ctx context.Context, key string, ttl time.Duration) (*Lock, error) {
	lock := &Lock{l, key, rand.Text()}
	_, err := redis.String(l.do(ctx, "SET", key, lock.token, "NX", "PX", ttl.Milliseconds()))
	if errors.Is(err, redis.ErrNil) {
		return nil, ErrHeld
	}
	return lock, err
}

// Release releases the key.
func (l *Lock) Release(ctx context.Context) error {
	_, err := l.by.do(ctx, "EVAL", l.by.release, 1, l.key, l.token)
	return err
}

// Close closes the connections, and ends renewals.
func (l *Locker) Close() error {
	close(l.closed)
	return l.pool.Close()
}

func (l *Locker) do(ctx context.Context, command string, args ...any) (any, error) {
	conn, err := l.pool.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return redis.DoContext(conn, ctx, command, args...)
}
