package searching

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"example.org/lockproof/harness/cluster/virtual/bubble"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
)

// seen is what the schedules of a round do.
type seen struct {
	histories [][]history.Event
	commands  int // that reached nodes
	links     int // on which any did
}

// traffic goes through a round's schedules and keeps what they do.
func traffic(ctx context.Context, children *suite.Children) (seen, error) {
	var s seen
	_, err := goThrough(ctx, children, 1, func(r suite.Result) {
		s.histories = append(s.histories, r.Events)
		reached := map[string]int64{} // by link; each of its commands has the next number
		for _, e := range r.Events {
			if e.Command != nil && strings.Contains(e.Process, ">") {
				reached[e.Process] = max(reached[e.Process], e.Command.Serial)
			}
		}
		s.links += len(reached)
		for _, n := range reached {
			s.commands += int(n)
		}
	})
	return s, err
}

// alone has go-redis send as many commands over as many connections, in virtual time, one
// bubble for each schedule, to nobody: each is answered before it is waited for.
func alone(s seen) (time.Duration, error) {
	links, commands := max(1, s.links/perRound), s.commands/max(1, s.links)
	began := time.Now()
	for range perRound {
		var failed error
		err := bubble.Run(func() {
			for range links {
				if failed = exchange(commands); failed != nil {
					return
				}
			}
		})
		if err != nil || failed != nil {
			return 0, errors.Join(failed, err)
		}
	}
	return time.Since(began), nil
}

// exchange sends so many commands over one connection.
func exchange(commands int) error {
	client := redis.NewClient(&redis.Options{
		Dialer:     func(context.Context, string, string) (net.Conn, error) { return &echo{}, nil },
		MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, PoolSize: 1, PipelinePoolSize: -1, Protocol: 2,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer client.Close()
	for range commands {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		err := client.Do(ctx, "set", "k1", "6ae6783f4fbde91b6eb88b73a48ed247dbe5882e", "nx", "px", "1000").Err()
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// echo is a connection on which each command has been answered by the time it is sent.
type echo struct{ answers bytes.Buffer }

func (c *echo) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("hello")) {
		c.answers.WriteString("-ERR unknown command\r\n") // a server of before HELLO
	} else {
		c.answers.WriteString("+OK\r\n")
	}
	return len(b), nil
}

func (c *echo) Read(b []byte) (int, error)       { return c.answers.Read(b) }
func (c *echo) Close() error                     { return nil }
func (c *echo) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *echo) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *echo) SetDeadline(time.Time) error      { return nil }
func (c *echo) SetReadDeadline(time.Time) error  { return nil }
func (c *echo) SetWriteDeadline(time.Time) error { return nil }
