//go:build missed

// Locks whose dials virtual time cannot serve: their tests fail with the reason.
package dials

import (
	"net"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.org/lockproof/harness/locktest"
)

// dialledBy tests a lock with another way to connect.
func dialledBy(t *testing.T, dial func(address string) (net.Conn, error)) {
	t.Helper()
	locktest.Run(t, func(env locktest.Env) (locktest.Lock, error) {
		lock := New("", "", CompareAndDelete)
		lock.pool.Dial = func() (redis.Conn, error) {
			conn, err := dial(env.Server(0).Addr)
			if err != nil {
				return nil, err
			}
			return redis.NewConn(conn, time.Second, time.Second), nil
		}
		return adapted{lock, env}, nil
	}, options...)
}

func TestMissedDialTCP(t *testing.T) {
	dialledBy(t, func(address string) (net.Conn, error) {
		to, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			return nil, err
		}
		return net.DialTCP("tcp", nil, to)
	})
}

// asked and dialled belong to a goroutine outside every trial.
var (
	asked   = make(chan string)
	dialled = make(chan error)
)

func init() {
	go func() {
		for address := range asked {
			_, err := net.Dial("tcp", address)
			dialled <- err
		}
	}()
}

func TestMissedOutside(t *testing.T) {
	dialledBy(t, func(address string) (net.Conn, error) {
		asked <- address
		return nil, <-dialled
	})
}

func TestMissedLiteral(t *testing.T) {
	dialledBy(t, func(string) (net.Conn, error) { return net.Dial("tcp", "redis-1:6379") })
}
