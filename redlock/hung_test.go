package redlock

import (
	"context"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// opened counts the connections to one address that are open at once.
type opened struct {
	addr      string
	now, most atomic.Int32
}

// count has the client's connections counted.
func (o *opened) count(options *redis.Options) {
	dial := options.Dialer
	options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil || addr != o.addr {
			return conn, err
		}
		now := o.now.Add(1)
		o.most.Store(max(o.most.Load(), now)) // in a bubble, nobody comes between that matters
		return &openedConn{Conn: conn, of: o}, nil
	}
}

type openedConn struct {
	net.Conn
	of     *opened
	closed sync.Once
}

func (c *openedConn) Close() error {
	c.closed.Do(func() { c.of.now.Add(-1) })
	return c.Conn.Close()
}

// One caller goes on trying, every few milliseconds, to get a lock that another
// holds, while one node of three answers nothing. What that costs does not depend
// on how often it tries, whether or not the node had said who it is before it hung.
func TestAHungNodeCostsABoundedNumberOfConnectionsAndGoroutines(t *testing.T) {
	for name, identified := range map[string]bool{"identified before": true, "never identified": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				toHung := &opened{addr: "n3:6379"}
				u := c.userWith(1, c.servers, toHung.count, WithRetryDelay(time.Millisecond, 5*time.Millisecond))
				if identified {
					u.warmUp(t)
				}
				c.occupy("another", 1, 2)
				u.each((*link).hang, 3)
				before := runtime.NumGoroutine()

				ctx, cancel := context.WithTimeout(t.Context(), 10*ttl)
				defer cancel()
				var most atomic.Int32
				go func() {
					for ctx.Err() == nil {
						most.Store(max(most.Load(), int32(runtime.NumGoroutine()-before)))
						time.Sleep(ttl / 20)
					}
				}()
				_, err := u.Acquire(ctx, key, ttl)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				synctest.Wait()
				// Without a bound: 5,000 and 20 if it was identified, 1,700 and 20 if not.
				require.LessOrEqual(t, int(most.Load()), 200, "goroutines")
				require.LessOrEqual(t, int(toHung.most.Load()), 12, "connections")
				t.Logf("at most %d connections and %d goroutines", toHung.most.Load(), most.Load())
			})
		})
	}
}

// A node that hung and answers again is asked again.
func TestANodeThatHungIsAskedOnceItAnswers(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		u := c.user(1, WithRetryDelay(time.Millisecond, 5*time.Millisecond))
		u.warmUp(t)
		c.occupy("another", 1, 2)
		var toN1, toN3 atomic.Int32
		counting := func(asked *atomic.Int32, ends error) func(*link) {
			return func(l *link) {
				l.onCommand(func(command string) error {
					if command == "set" {
						asked.Add(1)
					}
					return ends
				})
			}
		}
		u.each(counting(&toN1, nil), 1)
		u.each(counting(&toN3, errLost), 3)
		ctx, cancel := context.WithTimeout(t.Context(), 2*ttl)
		defer cancel()
		_, err := u.Acquire(ctx, key, ttl)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Greater(t, toN1.Load(), int32(100))
		require.Positive(t, toN3.Load())
		require.Less(t, toN3.Load(), toN1.Load()/2, "the hung node was not spared")

		c.free(1, 2)
		u.each(func(l *link) { l.onCommand(nil) }, 3)
		time.Sleep(10 * ttl) // by then the last of what hung has ended
		l := u.must(t)
		require.Equal(t, []string{l.Token(), l.Token(), l.Token()}, c.owners())
	})
}
